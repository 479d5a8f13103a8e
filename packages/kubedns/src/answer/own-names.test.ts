import { beforeEach, describe, expect, it } from '@jest/globals';
import { CLASS, EXTENDED_ERROR, readUint16 } from '@kube-dns/wire';
import { Answers } from '../../test/support/answers.js';
import { FakeClient, readAnswer, readQuery } from '../../test/support/messages.js';
import { HEADLESS, serviceObject, sliceObject } from '../../test/support/objects.js';
import { filledAnswers, SOA } from '../../test/support/filled-answers.js';
import { WEB } from '../../test/support/web-service.js';

let answers: Answers;
beforeEach(() => {
  answers = filledAnswers();
});

describe('a question of class CHAOS', () => {
  const CHAOS = { class: CLASS.CH };

  it.each([
    ['version.bind', 'kube-dns 1.2.3'],
    ['Version.Server', 'kube-dns 1.2.3'],
    ['hostname.bind', 'pod-a'],
    ['id.server', 'pod-a'],
  ])('for %s has the text', (name, text) => {
    const query = readQuery(name, 'TXT', CHAOS);
    const out = new Uint8Array(512);
    const length = answers.answerer.answer(query, out, new FakeClient());
    expect(readAnswer(out.subarray(0, length))).toMatchObject({
      rcode: 'NOERROR',
      flags: 'aa ra rd',
      answers: [`${name} TXT ${text}`],
      ttls: [0],
    });
    // The class of the record: it stands behind the question, a pointer and the type.
    expect(readUint16(out, query.questionEnd + 4)).toBe(CLASS.CH);
  });

  it('for another type of these names has nothing', async () => {
    const answer = await answers.ask('version.bind', 'A', CHAOS);
    expect(answer).toMatchObject({ rcode: 'NOERROR', answers: [] });
  });

  it.each(['authors.bind', 'x.version.bind', WEB, 'cluster.local'])(
    'for %s is refused',
    async (name) => {
      const edns = { ...CHAOS, hasEdns: true };
      const extendedError = EXTENDED_ERROR.NOT_AUTHORITATIVE;
      const refused = { rcode: 'REFUSED', extendedError };
      expect(await answers.ask(name, 'TXT', edns)).toMatchObject(refused);
    },
  );
});

describe('the name server of the zone', () => {
  const NS = 'ns.dns.cluster.local';

  it('is the DNS service, with its addresses in the additional section', async () => {
    const [name, namespace] = ['kube-dns', 'kube-system'];
    const clusterIPs = ['10.0.0.10', 'fd00::10'];
    answers.cluster.services.put(serviceObject({ name, namespace, clusterIPs }));
    const addresses = [`${NS} A 10.0.0.10`, `${NS} AAAA fd00::10`];
    expect(await answers.ask('cluster.local', 'NS')).toMatchObject({
      rcode: 'NOERROR',
      flags: 'aa ra rd',
      answers: [`cluster.local NS ${NS}`],
      additionals: addresses,
    });
    expect((await answers.ask(NS, 'A')).answers).toEqual(addresses.slice(0, 1));
    expect((await answers.ask(NS, 'AAAA')).answers).toEqual(addresses.slice(1));
    expect(await answers.ask(NS, 'TXT')).toMatchObject({ rcode: 'NOERROR', authorities: [SOA] });
  });

  it('is at the addresses of this server where there is no such service', async () => {
    answers = new Answers({ ownAddresses: [Uint8Array.of(10, 1, 0, 9)] });
    expect((await answers.ask('cluster.local', 'NS')).additionals).toEqual([`${NS} A 10.1.0.9`]);
    expect(await answers.ask(NS, 'AAAA')).toMatchObject({ rcode: 'NOERROR', answers: [] });
  });

  it.each([
    ['dns.cluster.local', 'NOERROR'],
    ['x.dns.cluster.local', 'NXDOMAIN'],
    ['x.ns.dns.cluster.local', 'NXDOMAIN'],
  ])('makes %s %s', async (name, rcode) => {
    expect(await answers.ask(name, 'A')).toMatchObject({ rcode, answers: [], authorities: [SOA] });
  });
});

describe('the counts of questions', () => {
  it('separate the zone, reverse names and other names', async () => {
    await answers.ask(WEB, 'A');
    await answers.ask(WEB, 'A', { class: CLASS.CH });
    await answers.ask('1.0.0.10.in-addr.arpa', 'PTR');
    await answers.ask('9.9.9.9.in-addr.arpa', 'PTR');
    await answers.ask('1.ip6.arpa', 'A');
    await answers.ask('_services._dns-sd._udp.example.com', 'PTR');
    expect(answers.statistics.requests).toEqual({ auth: 2, reverse: 3, recursive: 1 });
  });

  it('have at most the size that the client takes, and are counted as truncated', async () => {
    const endpoints = Array.from({ length: 100 }, (_, i) => `10.1.0.${i + 1}`);
    answers.cluster.services.put(serviceObject({ name: 'many', ...HEADLESS }));
    answers.cluster.endpointSlices.put(sliceObject({ service: 'many', endpoints }));
    const { flags } = await answers.ask('many.default.svc.cluster.local', 'A');
    expect(flags).toBe('aa ra rd tc');
    expect(answers.statistics.errors.auth.truncated).toBe(1);
    expect(answers.statistics.sizes.auth.sum).toBeLessThanOrEqual(512);
  });
});
