import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { expectedRecords } from '../../test/model/expected-records.js';
import { Answers } from '../../test/support/answers.js';
import {
  contents,
  histories,
  NAMES,
  type ObjectEvent,
  SERVICES,
  tell,
} from '../../test/support/object-histories.js';
import {
  HEADLESS,
  namespaceObject,
  serviceObject,
  sliceObject,
} from '../../test/support/objects.js';
import { type RecordedLog, recordedLog } from '../../test/support/recorded-log.js';
import { ContactLog } from './cluster-watch.js';

/** What `contents` is to be, computed from the last state of each object. */
function expected(events: readonly ObjectEvent[]): object {
  const last = new Map(
    events.map((event) => [`${event.kind} ${event.object.metadata?.name}`, event]),
  );
  const alive = [...last.values()].filter(({ isGone }) => !isGone);
  const records = expectedRecords({
    services: alive.flatMap((event) => (event.kind === 'services' ? [event.object] : [])),
    slices: alive.flatMap((event) => (event.kind === 'endpointSlices' ? [event.object] : [])),
    endpoints: alive.flatMap((event) => (event.kind === 'endpoints' ? [event.object] : [])),
  });
  return Object.fromEntries(
    NAMES.map((name) => {
      const found = records.get(name);
      return [name, found && [...found].sort()];
    }),
  );
}

describe('ClusterState', () => {
  it('ends with the records of the last objects, for any history and order', async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (events) => {
        const answers = new Answers();
        for (const event of events) tell(answers, event);
        expect(await contents(answers)).toEqual(expected(events));
      }),
      { numRuns: 300 },
    );
  });

  it('is right after every single event as well, with questions in between', async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (events) => {
        const answers = new Answers();
        for (const [i, event] of events.entries()) {
          tell(answers, event);
          expect(await contents(answers)).toEqual(expected(events.slice(0, i + 1)));
        }
      }),
      { numRuns: 40 },
    );
  });

  it('is empty when every object was deleted', () => {
    fc.assert(
      fc.property(histories, (events) => {
        const answers = new Answers();
        const { zone } = answers.cluster;
        for (const event of events) tell(answers, event);
        for (const event of events) tell(answers, { ...event, isGone: true });
        expect(zone.namespaces.size).toBe(0);
        expect(zone.addresses.size).toBe(0);
      }),
    );
  });

  it('assigns the endpoints of a slice to the service that its label names now', async () => {
    const answers = new Answers();
    const { services: objects, endpointSlices } = answers.cluster;
    for (const name of SERVICES) objects.put(serviceObject({ name, ...HEADLESS }));
    const hostNames = async () => {
      const found: string[] = [];
      for (const name of NAMES.filter((each) => each.startsWith('a.'))) {
        if ((await answers.ask(name, 'A')).rcode === 'NOERROR') found.push(name);
      }
      return found;
    };
    const slice = (service: string) =>
      sliceObject({ name: 's1', service, endpoints: [{ addresses: ['10.0.0.1'], hostname: 'a' }] });
    endpointSlices.put(slice('web'));
    expect(await hostNames()).toEqual(['a.web.default.svc.cluster.local']);
    endpointSlices.put(slice('db'));
    expect(await hostNames()).toEqual(['a.db.default.svc.cluster.local']);
    endpointSlices.put(slice(''));
    expect(await hostNames()).toEqual([]);
  });

  it('separates slices and services of one name in two namespaces', async () => {
    const answers = new Answers();
    for (const namespace of ['one', 'two']) {
      answers.cluster.services.put(serviceObject({ namespace, ...HEADLESS }));
    }
    const endpoints = ['10.0.0.1'];
    answers.cluster.endpointSlices.put(sliceObject({ namespace: 'one', endpoints }));
    const rcode = async (namespace: string) =>
      (await answers.ask(`web.${namespace}.svc.cluster.local`, 'A')).rcode;
    expect([await rcode('one'), await rcode('two')]).toEqual(['NOERROR', 'NXDOMAIN']);
  });

  it('lets a namespace exist below svc and below pod', async () => {
    const answers = new Answers();
    answers.cluster.zone.hasAllNamespaces = true;
    const rcodes = () =>
      Promise.all(
        ['svc', 'pod'].map(
          async (parent) => (await answers.ask(`empty.${parent}.cluster.local`, 'A')).rcode,
        ),
      );
    answers.cluster.namespaces.put(namespaceObject('empty'));
    expect(await rcodes()).toEqual(['NOERROR', 'NOERROR']);
    answers.cluster.namespaces.delete(namespaceObject('empty'));
    expect(await rcodes()).toEqual(['NXDOMAIN', 'NXDOMAIN']);
  });

  it('does not let endpoints of a service that is not there make a namespace', async () => {
    const answers = new Answers();
    answers.cluster.endpointSlices.put(sliceObject({ endpoints: ['10.0.0.1'] }));
    expect((await answers.ask('default.svc.cluster.local', 'A')).rcode).toBe('NXDOMAIN');
  });
});

/** A resource whose time without contact a test sets. */
class Resource {
  noContactMs = 0;
  objects = 0;
  readonly resource: string;

  constructor(resource: string) {
    this.resource = resource;
  }
}

describe('ContactLog', () => {
  let log: RecordedLog;
  let services: Resource;
  let slices: Resource;
  let pending: string[];
  let contact: ContactLog;
  beforeEach(() => {
    log = recordedLog();
    services = new Resource('services');
    slices = new Resource('endpointslices');
    pending = [];
    contact = new ContactLog(log);
  });

  /** What is said when the loss has lasted so long. */
  function after(noContactMs: number): string[] {
    services.noContactMs = noContactMs;
    contact.report([services, slices], pending);
    return log.lines.splice(0);
  }

  const line = (seconds: number) =>
    `W services: no contact with the API server for ${seconds} s; serving the last known records`;

  it('reports a loss after half a minute, then less and less often, and its end', () => {
    expect(after(29_000)).toEqual([]);
    expect(after(31_000)).toEqual([line(31)]);
    for (let seconds = 36; seconds < 62; seconds += 5) expect(after(seconds * 1_000)).toEqual([]);
    expect(after(66_000)).toEqual([line(66)]);
    expect(after(130_000)).toEqual([]);
    expect(after(135_000)).toEqual([line(135)]);
    expect(after(0)).toEqual(['I services: the API server is back after 135 s']);
    expect(after(0)).toEqual([]);
    expect(after(30_000)).toEqual([line(30)]);
  });

  it('reports it once an hour in the end', () => {
    let said = 0;
    for (let minutes = 1; minutes <= 24 * 60; minutes++) said += after(minutes * 60_000).length;
    expect(said).toBeGreaterThan(20);
    expect(said).toBeLessThan(35);
  });

  it('does not report a short loss', () => {
    expect(after(20_000)).toEqual([]);
    expect(after(0)).toEqual([]);
  });

  it('names the pending resources with their objects so far', () => {
    pending = ['services', 'endpointslices'];
    services.objects = 1_200;
    expect(after(0)).toEqual(['I waiting for services (1200 so far), endpointslices']);
    expect(after(40_000)).toEqual([
      'I waiting for services (1200 so far), endpointslices',
      'W services: no contact with the API server for 40 s',
    ]);
  });
});
