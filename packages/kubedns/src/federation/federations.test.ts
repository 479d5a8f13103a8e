import { beforeEach, describe, expect, it } from '@jest/globals';
import { encodeKey, EXTENDED_ERROR } from '@kube-dns/wire';
import { ScriptedNameServer } from '@kube-dns/testkit';
import { Answers } from '../../test/support/answers.js';
import { HEADLESS, serviceObject, sliceObject } from '../../test/support/objects.js';
import { federatedTarget, type Federations } from './federations.js';

const FEDERATED = 'web.default.myfed.svc.cluster.local';
const ELSEWHERE = 'web.default.myfed.svc.zone-a.region-b.example.com';

let locality: Federations['locality'];
let answers: Answers;
beforeEach(() => {
  locality = { zone: 'zone-a', region: 'region-b' };
  const federation = { name: 'myfed', domain: 'example.com', domainWire: encodeKey('example.com') };
  const federations: Pick<Federations, 'isActive' | 'find' | 'locality'> = {
    isActive: true,
    find: (bytes, start, end) =>
      Buffer.from(bytes.subarray(start, end)).toString() === 'myfed' ? federation : undefined,
    get locality() {
      return locality;
    },
  };
  answers = new Answers({
    federate: (name) => federatedTarget(federations, name, answers.cluster.zone),
  });
});

describe('a federated name', () => {
  it('leads to the service of this cluster when that has endpoints', async () => {
    answers.cluster.services.put(serviceObject());
    answers.cluster.endpointSlices.put(sliceObject({ endpoints: ['10.1.0.1'] }));
    expect(await answers.ask(FEDERATED, 'A')).toMatchObject({
      rcode: 'NOERROR',
      flags: 'aa ra rd',
      answers: [
        `${FEDERATED} CNAME web.default.svc.cluster.local`,
        'web.default.svc.cluster.local A 10.0.0.1',
      ],
      ttls: [0, 0],
    });
  });

  it('has TTL 0 in each record, from upstream, of a negative answer, and for CNAME as well', async () => {
    const upstream = await ScriptedNameServer.start();
    answers.forwardTo(upstream.hostPort);
    try {
      upstream.respond(`${ELSEWHERE} A`, {
        answers: [{ type: 'A', name: ELSEWHERE, ttl: 60, data: '192.0.2.1' }],
      });
      expect(await answers.ask(FEDERATED, 'A', { hasEdns: true })).toMatchObject({
        // AA is about the first owner name (RFC 1035 section 4.1.1).
        flags: 'aa ra rd',
        ttls: [0, 0],
      });
      expect((await answers.ask(FEDERATED, 'CNAME')).ttls).toEqual([0]);
      answers.cluster.services.put(serviceObject());
      answers.cluster.endpointSlices.put(sliceObject({ endpoints: ['10.1.0.1'] }));
      expect(await answers.ask(FEDERATED, 'AAAA')).toMatchObject({
        authorities: [expect.stringContaining('SOA')],
        ttls: [0, 0],
      });
    } finally {
      answers.close();
      await upstream.close();
    }
  });

  it('has TTL 0 where an ExternalName leads to it', async () => {
    answers.cluster.services.put(serviceObject());
    answers.cluster.services.put(serviceObject({ name: 'alias', externalName: FEDERATED }));
    answers.cluster.endpointSlices.put(sliceObject({ endpoints: ['10.1.0.1'] }));
    const { ttls } = await answers.ask('alias.default.svc.cluster.local', 'A');
    expect(ttls).toEqual([0, 0, 0]);
  });

  it.each([
    ['the service has no endpoints', serviceObject()],
    ['a headless service has none', serviceObject(HEADLESS)],
    ['there is no such service', serviceObject({ name: 'other' })],
  ])('leads to the federation when %s', async (_what, object) => {
    answers.cluster.services.put(object);
    const { answers: records, rcode } = await answers.ask(FEDERATED, 'A');
    expect(records).toEqual([`${FEDERATED} CNAME ${ELSEWHERE}`]);
    // There is no server for the other names.
    expect(rcode).toBe('SERVFAIL');
  });

  it('leads to the federation while no endpoint of the service is ready', async () => {
    const put = (isReady: boolean) =>
      answers.cluster.endpointSlices.put(
        sliceObject({ endpoints: [{ addresses: ['10.1.0.1'], isReady }] }),
      );
    answers.cluster.services.put(serviceObject());
    put(false);
    expect((await answers.ask(FEDERATED, 'CNAME')).answers).toEqual([
      `${FEDERATED} CNAME ${ELSEWHERE}`,
    ]);
    put(true);
    expect((await answers.ask(FEDERATED, 'CNAME')).answers).toEqual([
      `${FEDERATED} CNAME web.default.svc.cluster.local`,
    ]);
  });

  it('leads to an ExternalName of this cluster, and to its target', async () => {
    answers.cluster.services.put(serviceObject({ externalName: 'db.example.com' }));
    expect((await answers.ask(FEDERATED, 'A')).answers).toEqual([
      `${FEDERATED} CNAME web.default.svc.cluster.local`,
      'web.default.svc.cluster.local CNAME db.example.com',
    ]);
  });

  it.each([
    ['has a label that no service has', `${'\\255'.repeat(63)}.default.myfed.svc.cluster.local`],
    [
      'would lead to too long a name',
      `${'a'.repeat(63)}.${'b'.repeat(63)}.myfed.svc.cluster.local`,
    ],
  ])('does not exist when it %s', async (_what, name) => {
    locality = { zone: 'z'.repeat(63), region: 'r'.repeat(63) };
    expect((await answers.ask(name, 'A')).rcode).toBe('NXDOMAIN');
  });

  it('is SERVFAIL while zone and region of this cluster are unknown', async () => {
    locality = undefined;
    expect(await answers.ask(FEDERATED, 'A', { hasEdns: true })).toMatchObject({
      rcode: 'SERVFAIL',
      answers: [],
      extendedError: EXTENDED_ERROR.NOT_READY,
    });
  });

  it.each([
    'web.default.other.svc.cluster.local',
    'x.web.default.myfed.svc.cluster.local',
    'default.myfed.svc.cluster.local',
    '_http._tcp.web.default.myfed.svc.cluster.local',
  ])('has the labels of a service, and the federation: %s has not', async (name) => {
    expect((await answers.ask(name, 'A')).rcode).toBe('NXDOMAIN');
  });
});
