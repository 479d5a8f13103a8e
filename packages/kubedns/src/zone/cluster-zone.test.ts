import { beforeEach, describe, expect, it } from '@jest/globals';
import { encodeKey, readUint32 } from '@kube-dns/wire';
import { type KeptLog, keptLog } from '../../test/support/kept-log.js';
import { serviceObject } from '../../test/support/objects.js';
import { textsAt } from '../../test/support/record-text.js';
import { projectService } from '../cluster/service.js';
import { ClusterZone } from './cluster-zone.js';

let log: KeptLog;
let now: number;
let zone: ClusterZone;
beforeEach(() => {
  log = keptLog(3);
  now = 1_000_000;
  zone = new ClusterZone({ domain: 'zone.', negativeTtlSeconds: 5, log, now: () => now });
});

const serial = () => readUint32(zone.soaRdata, zone.soaRdata.length - 20);
const at = (name: string) => textsAt(zone.forward, encodeKey(name));

function put(name: string, fields: Parameters<typeof serviceObject>[0]): void {
  const service = projectService(serviceObject({ name, ...fields }));
  zone.putService(`default/${name}`, service, []);
}

describe('ClusterZone', () => {
  it('has its fixed names before it has a service', () => {
    expect(['zone', 'svc.zone', 'pod.zone'].map(at)).toEqual([[], [], []]);
    expect(at('dns-version.zone')).toHaveLength(1);
    expect(at('dns.zone')).toBeUndefined();
  });

  it('has the time of its last change for a serial', () => {
    expect(serial()).toBe(1_000);
    now += 5_000;
    expect(serial()).toBe(1_000);
    put('web', {});
    expect(serial()).toBe(1_005);
    now += 5_000;
    zone.putNamespace('default', true);
    expect(serial()).toBe(1_010);
  });

  it('never lets the serial fall, whatever the clock does', () => {
    now = 0;
    put('web', {});
    expect(serial()).toBe(1_000);
  });

  it('drops the records of a service that came to make no sense, and says so', () => {
    put('web', { externalName: 'example.com' });
    expect(at('web.default.svc.zone')).toEqual(['CNAME example.com']);
    put('web', { externalName: 'a..b' });
    expect(at('web.default.svc.zone')).toBeUndefined();
    expect(log.lines.at(-2)).toBe(
      'E service default/web: name "a..b": empty label; it gets no records',
    );
  });

  it('forgets a namespace whose name cannot be one', () => {
    const name = 'n'.repeat(64);
    expect(() => zone.putNamespace(name, true)).toThrow('must have 1 to 63 bytes');
    expect(() => zone.putNamespace(name, false)).not.toThrow();
  });
});
