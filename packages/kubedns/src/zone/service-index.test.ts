import { describe, expect, it } from '@jest/globals';
import { encodeKey, encodeName } from '@kube-dns/wire';
import type { V1Service } from '@kubernetes/client-node';
import fc from 'fast-check';
import { type ObjectReading, projectService, type Service } from '../watch/projections.js';
import { NO_SERVICE, ServiceIndex } from './service-index.js';
import { ZoneService } from './zone-service.js';

const SUFFIX = encodeKey('svc.cluster.local');
const READING: ObjectReading = { names: 'hash', onRejected: () => undefined };
/** Labels of one length end in the same block as others, or are too long for a block. */
const LONG = 'l'.repeat(60);

/** The bytes of the labels, without those of the zone. */
function labelBytes(labels: string): Uint8Array {
  const name = nameOf(labels);
  return name.slice(0, name.length - SUFFIX.length);
}

function nameOf(labels: string): Uint8Array {
  return encodeName(`${labels}.svc.cluster.local`);
}

/** The cluster addresses of a Service object. */
const STATES: readonly (readonly string[])[] = [
  ['10.96.0.1'],
  ['10.96.255.7'],
  ['10.96.0.1', '10.96.0.2'],
  ['10.96.0.1', 'fd00::1'],
  ['fd00::1'],
  ['None'],
];

function objectOf(clusterIPs: readonly string[], port: number): Service {
  const metadata = { namespace: 'team', name: 'web' };
  const spec = { clusterIPs, ports: [{ name: 'http', port }] };
  return projectService({ metadata, spec } as unknown as V1Service, READING);
}

/** An index beside a plain map of the same services. */
class Model {
  readonly index = new ServiceIndex(SUFFIX);
  readonly services = new Map<string, ZoneService>();

  put(labels: string, state: number | undefined): void {
    let service = this.services.get(labels);
    if (service === undefined) {
      service = new ZoneService(labels, this.index.nextNumber);
      this.services.set(labels, service);
      this.index.add(service, labelBytes(labels));
    }
    service.put(state === undefined ? undefined : objectOf(STATES[state]!, 80 + state));
    this.index.update(service);
  }

  remove(labels: string): void {
    const service = this.services.get(labels);
    if (service === undefined) return;
    this.index.remove(service);
    this.services.delete(labels);
  }

  find(labels: string): number {
    // Behind other bytes, as in a question for a port.
    const name = Uint8Array.of(9, 9, ...nameOf(labels));
    return this.index.find(name, 2, name.length - SUFFIX.length);
  }

  check(labels: string): void {
    const number = this.find(labels);
    const service = this.services.get(labels);
    if (service === undefined) {
      expect(number).toBe(NO_SERVICE);
      return;
    }
    const { index } = this;
    expect(index.serviceAt(number)).toBe(service);
    const out = new Uint8Array(260);
    const length = index.writeName(number, out, 1);
    expect(out.slice(1, 1 + length)).toEqual(nameOf(labels));
    expect(index.nameOf(number)).toEqual(nameOf(labels));
    const object = service.service;
    expect(index.portsAt(number)).toEqual(object?.ports ?? { ports: [], numbers: [] });
    const { bytes = '' } = object?.ipv4 ?? {};
    const isSingle = object?.kind === 'cluster-ip' && bytes.length === 4 && !object.ipv6.bytes;
    expect(index.isSingle(number)).toBe(isSingle);
    if (!isSingle) return;
    index.copyAddress(number, out);
    expect(Buffer.from(out.subarray(0, 4)).toString('latin1')).toBe(bytes);
    expect(index.hasAddress(number, out)).toBe(true);
    out[3]! ^= 1;
    expect(index.hasAddress(number, out)).toBe(false);
  }
}

describe('ServiceIndex', () => {
  it('equals a map of its services after any changes', () => {
    const labels = fc
      .tuple(fc.constantFrom('web', 'db', LONG, `${LONG}2`), fc.nat({ max: 40 }))
      .map(([first, namespace]) => `${first}.team-${namespace}`);
    const step = fc.record({
      labels,
      state: fc.option(fc.nat({ max: STATES.length - 1 }), { nil: undefined }),
      isRemoving: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const model = new Model();
        for (const { labels: own, state, isRemoving } of steps) {
          if (isRemoving) model.remove(own);
          else model.put(own, state);
          model.check(own);
        }
        for (const { labels: own } of steps) model.check(own);
      }),
    );
  });

  it('grows, and gives the numbers of removed services to the next ones', () => {
    const model = new Model();
    const labels = Array.from({ length: 1_000 }, (_, i) => `web-${i}.team-${i % 7}`);
    for (const [i, own] of labels.entries()) model.put(own, i % STATES.length);
    for (const own of labels) model.check(own);
    for (const own of labels.filter((_, i) => i % 3 === 0)) model.remove(own);
    for (const own of labels) model.check(own);
    for (let i = 0; i < 300; i++) model.put(`other-${i}.team-1`, i % STATES.length);
    for (const own of labels) model.check(own);
    for (let i = 0; i < 300; i++) model.check(`other-${i}.team-1`);
    expect(model.index.nextNumber).toBeLessThan(1_000);
  });

  it('finds no other labels of the same length, nor labels cut at another place', () => {
    const model = new Model();
    model.put('web.team', 0);
    for (const other of ['wed.team', 'web.teal', 'we.bteam', 'web.tea', 'web.teams', 'team.web']) {
      expect([other, model.find(other)]).toEqual([other, NO_SERVICE]);
    }
  });
});
