import { stepsOf } from '../../test/support/steps.js';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { Answers } from '../../test/support/answers.js';
import { HEADLESS, serviceObject, sliceObject } from '../../test/support/objects.js';
import { FakeClient, readQuery } from '../../test/support/messages.js';
import { hashLabel } from '../../test/support/hash-label.js';
import { DB, filledAnswers, ZONE } from '../../test/support/filled-answers.js';

let answers: Answers;
beforeEach(() => {
  answers = filledAnswers();
});

describe('another type of the reverse name of an address', () => {
  it.each(['TXT', 'SOA', 'NS', 'A'])('is NODATA, not what a name server has: %s', async (type) => {
    const name = '1.0.1.10.in-addr.arpa';
    expect(await answers.ask(name, type)).toMatchObject({
      rcode: 'NOERROR',
      flags: 'aa ra rd',
      answers: [],
      authorities: [`${name} SOA ns.dns.cluster.local hostmaster.cluster.local 5`],
      ttls: [5],
    });
  });
});

describe('the names of one address', () => {
  const PTR = '1.0.1.10.in-addr.arpa';
  const shared = (...names: string[]) => {
    for (const name of names) {
      answers.cluster.services.put(serviceObject({ name, ...HEADLESS }));
      answers.cluster.endpointSlices.put(
        sliceObject({ name: `${name}-1`, service: name, endpoints: ['10.1.0.1'] }),
      );
    }
  };

  it('are one where only the first is wanted', async () => {
    answers = new Answers({ ptr: 'first' });
    shared('zzz', 'aaa');
    answers.cluster.services.put(serviceObject({ name: 'own', clusterIPs: ['10.1.0.1'] }));
    expect((await answers.ask(PTR, 'PTR')).answers).toEqual([`${PTR} PTR own.default.${ZONE}`]);
  });

  it('are no more than fit into an answer', async () => {
    shared(...Array.from({ length: 300 }, (_, i) => `s${i}`));
    const whole = await answers.ask(PTR, 'PTR', { isOverTcp: true });
    expect(new Set(whole.answers).size).toBe(256);
    expect((await answers.ask(PTR, 'PTR')).flags).toBe('aa ra rd tc');
  });

  it('are those of services first, then hostnames, in any alphabetic order', async () => {
    shared('aaa');
    answers.cluster.services.put(serviceObject({ name: 'zzzzz', clusterIPs: ['10.1.0.1'] }));
    const endpoints = [{ addresses: ['10.1.0.1'], hostname: 'h'.repeat(30) }];
    answers.cluster.endpointSlices.put(sliceObject({ name: 'aaa-2', service: 'aaa', endpoints }));
    const { answers: records } = await answers.ask(PTR, 'PTR', { isOverTcp: true });
    expect(records.map((text) => text.replace(`${PTR} PTR `, ''))).toEqual([
      `zzzzz.default.${ZONE}`,
      `db-0.${DB}`,
      `${'h'.repeat(30)}.aaa.default.${ZONE}`,
      `${hashLabel('10.1.0.1')}.aaa.default.${ZONE}`,
    ]);
  });

  it('are every hostname in one slice, up to the same limit', async () => {
    const slice = (count: number) =>
      sliceObject({
        service: 'many',
        endpoints: Array.from({ length: count }, (_, i) => ({
          addresses: ['10.1.0.9'],
          hostname: `h${i}`,
        })),
      });
    const names = async () =>
      (await answers.ask('9.0.1.10.in-addr.arpa', 'PTR', { isOverTcp: true })).answers.length;
    answers.cluster.services.put(serviceObject({ name: 'many', ...HEADLESS }));
    answers.cluster.endpointSlices.put(slice(3));
    expect(await names()).toBe(3);
    answers.cluster.endpointSlices.put(slice(300));
    expect(await names()).toBe(256);
  });

  it('are found in one walk through slices that have it thousands of times', async () => {
    answers.cluster.services.put(serviceObject({ name: 'same', ...HEADLESS }));
    const endpoints = Array.from({ length: 500 }, () => '10.1.0.8');
    const stepsWith = (slices: number) => {
      for (let i = 0; i < slices; i++) {
        const name = `same-${i}`;
        answers.cluster.endpointSlices.put(sliceObject({ name, service: 'same', endpoints }));
      }
      const query = readQuery('8.0.1.10.in-addr.arpa', 'PTR');
      const out = new Uint8Array(512);
      return stepsOf(() => void answers.answerer.answer(query, out, new FakeClient()));
    };
    const [half, whole] = [stepsWith(4), stepsWith(8)];
    expect(whole).toBeLessThan(half * 2.5);
    const { answers: records } = await answers.ask('8.0.1.10.in-addr.arpa', 'PTR');
    expect(records).toHaveLength(1);
  });

  it('are not those of an IPv4 address with the same first bytes', async () => {
    const endpoints = [
      { addresses: ['fd00::1'], hostname: 'six' },
      { addresses: ['253.0.0.0'], hostname: 'four' },
    ];
    answers.cluster.services.put(serviceObject({ name: 'two', ...HEADLESS }));
    answers.cluster.endpointSlices.put(sliceObject({ service: 'two', endpoints }));
    const name = `1.${'0.'.repeat(27)}0.0.d.f.ip6.arpa`;
    expect((await answers.ask(name, 'PTR')).answers).toEqual([
      `${name} PTR six.two.default.${ZONE}`,
    ]);
  });

  it('are separate from those of an IPv4 address in IPv6', async () => {
    const mapped = '1.0.0.0.0.0.a.0.f.f.f.f.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa';
    expect(await answers.ask(mapped, 'PTR')).toMatchObject({ rcode: 'SERVFAIL', answers: [] });
  });
});
