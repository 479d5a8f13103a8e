import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { MAX_MESSAGE_BYTES } from '@kube-dns/wire';
import { Answers } from '../../test/support/answers.js';
import { FakeClient, readAnswer, readQuery } from '../../test/support/messages.js';
import { HEADLESS, serviceObject, sliceObject } from '../../test/support/objects.js';
import { ZoneService } from './zone-service.js';

const ports = [{ name: 'http', port: 80, protocol: 'TCP' }];
let answers: Answers;
beforeEach(() => {
  answers = new Answers();
});

/** What a name has of a type, without the owner, in alphabetical order. */
async function found(name: string, type = 'A'): Promise<string[]> {
  const { answers: records } = await answers.ask(`${name}.cluster.local`, type);
  return records.map((text) => text.replace(`${name}.cluster.local `, '')).sort();
}

describe('a wildcard that may match very many services', () => {
  /** Services of one endpoint each; the last one has another host and port, too. */
  function many(count: number): void {
    const { services, endpointSlices } = answers.cluster;
    for (let i = 0; i < count; i++) {
      services.put(serviceObject({ namespace: 'many', name: `s${i}`, ...HEADLESS }));
      const endpoints = [`10.3.${i >> 8}.${i & 255}`];
      endpointSlices.put(
        sliceObject({ namespace: 'many', name: `s${i}`, service: `s${i}`, endpoints }),
      );
    }
    const endpoints = [{ addresses: ['10.4.0.1'], hostname: 'rare' }];
    const fields = { name: 'rare', namespace: 'many', service: `s${count - 1}`, endpoints };
    const rare = { name: 'rare', port: 80, protocol: 'TCP' };
    endpointSlices.put(sliceObject({ ...fields, ports: [rare] }));
  }

  it('finds the hosts of few among many services without making sets of the others', async () => {
    many(100);
    const sets = jest.spyOn(ZoneService.prototype, 'makeSet');
    expect(await found('rare.*.*.svc')).toEqual(['A 10.4.0.1']);
    expect(await found('_rare._tcp.*.*.svc', 'SRV')).toEqual([
      'SRV 10 100 80 rare.s99.many.svc.cluster.local',
    ]);
    expect(await found('*.*.many.svc', 'AAAA')).toEqual([]);
    expect(sets.mock.calls.length).toBeLessThan(2);
    sets.mockRestore();
  });

  it('looks at a part of very many services, and never says that a name does not exist then', async () => {
    many(5_000);
    for (const [name, type, record] of [
      ['rare.*.*.svc', 'A', 'rare.*.*.svc.cluster.local A 10.4.0.1'],
      [
        '_rare._tcp.*.many.svc',
        'SRV',
        '_rare._tcp.*.many.svc.cluster.local SRV 10 100 80 rare.s4999.many.svc.cluster.local',
      ],
    ] as const) {
      const seen = new Set<string>();
      for (let i = 0; i < 300; i++) {
        const answer = await answers.ask(`${name}.cluster.local`, type, { hasEdns: true });
        const text = answer.answers.join();
        seen.add(`${answer.rcode} ${answer.flags} ${answer.extendedError} ${text}`);
      }
      // The search begins at another service each time, so that none is never found.
      expect([...seen].sort()).toEqual([
        `NOERROR aa ra rd tc -1 ${record}`,
        'SERVFAIL aa ra rd 0 ',
      ]);
    }
  });

  it('has a part of very many matches: over UDP with TC, over TCP as they are', async () => {
    for (let i = 0; i < 1_000; i++) {
      const clusterIPs = [`10.5.${i >> 8}.${i & 255}`];
      answers.cluster.services.put(serviceObject({ namespace: `n${i}`, name: 'all', clusterIPs }));
    }
    const ask = (isOverTcp: boolean) =>
      answers.ask('all.*.svc.cluster.local', 'A', { hasEdns: true, isOverTcp });
    expect((await ask(false)).flags).toBe('aa ra rd tc');
    const { flags, answers: records } = await ask(true);
    expect(flags).toBe('aa ra rd');
    expect(records).toHaveLength(128);
    const seen = new Set<string>();
    for (let i = 0; i < 200; i++) for (const text of (await ask(true)).answers) seen.add(text);
    expect(seen.size).toBe(1_000);
  });

  it.each(['A', 'SRV'])('has at most 4 KiB of very many records of type %s over TCP', (type) => {
    const endpoints = Array.from({ length: 4_000 }, (_, i) => `10.6.${i >> 8}.${i & 255}`);
    answers.cluster.services.put(serviceObject(HEADLESS));
    answers.cluster.endpointSlices.put(sliceObject({ endpoints, ports }));
    const query = readQuery('*.*.default.svc.cluster.local', type, { isOverTcp: true });
    const out = new Uint8Array(MAX_MESSAGE_BYTES);
    const length = answers.answerer.answer(query, out, new FakeClient());
    expect(length).toBeLessThanOrEqual(4_096);
    const { flags, answers: records } = readAnswer(out.subarray(0, length));
    expect(flags).toBe('aa ra rd');
    expect(records.length).toBeGreaterThan(40);
  });

  it('answers for very many services with what fits into the answer', async () => {
    for (let i = 0; i < 5_000; i++) {
      const clusterIPs = [`10.2.${i >> 8}.${i & 255}`];
      answers.cluster.services.put(
        serviceObject({ namespace: 'many', name: `s${i}`, clusterIPs, ports }),
      );
    }
    const { flags, answers: records } = await answers.ask(
      '_http._tcp.*.many.svc.cluster.local',
      'SRV',
    );
    expect(flags).toBe('aa ra rd tc');
    expect(records.length).toBeGreaterThan(5);
  });
});
