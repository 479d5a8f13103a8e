import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { endPrograms } from '@kube-dns/testkit';
import { exchangeUdp } from './client.js';
import { echoingResponse, optText, queryWithOptions } from './edns-messages.js';
import { FakeUpstream } from './fake-upstream.js';
import { addressRecords, queryMessage } from './messages.js';
import { serve, type Serving } from './processes.js';
import { REAL_DNSMASQ, serveReal } from './real-dnsmasq.js';

// Without the real dnsmasq there is nothing to compare with; Debian has it in dnsmasq-base.
const describeBesideReal = REAL_DNSMASQ === undefined ? describe.skip : describe;
const WITHOUT = REAL_DNSMASQ === undefined ? ' (skipped: no dnsmasq 2.90 on this machine)' : '';

const SUBNET = '8 00011800090909';
const MAC = '65001 020000000009';
const MAC_TEXT = '65073 74657874';
const CPE_ID = '65074 637065';
const UMBRELLA = '20292 4f444e5378';
const COOKIE = '10 3132333435363738';

/** What a client sends: nothing, or the options of its OPT record. */
const SENT: readonly (readonly string[] | undefined)[] = [
  ...[undefined, [], [MAC], [MAC_TEXT], [CPE_ID], [UMBRELLA], [COOKIE], [SUBNET]],
  ...[
    [SUBNET, COOKIE],
    [COOKIE, SUBNET],
    [COOKIE, MAC, MAC_TEXT, UMBRELLA],
  ],
];

/** Options with which both send the same queries, and answer the same from cache or upstream. */
const SAME = [
  ...['--add-cpe-id=hello', '--add-cpe-id='],
  ...['--umbrella', '--umbrella=deviceid:0123456789abcdef,orgid:1,assetid:4294967295'],
  // This machine has no MAC.
  ...['--add-mac', '--add-mac=base64', '--add-mac=text --add-mac'],
  ...['--add-subnet --strip-subnet', '--add-subnet=24 --strip-subnet'],
  ...['--add-subnet=17,56 --strip-subnet', '--add-subnet=1.2.3.4/20,::1/64 --strip-subnet'],
  ...['--add-subnet=1:2:3::/20 --strip-subnet', '--add-subnet=0,5 --strip-subnet'],
  '--add-cpe-id=x --umbrella=orgid:7 --add-subnet=32 --strip-subnet --add-mac',
];
/** These take out of queries what they have; without an OPT record there is nothing to take. */
const STRIPPING = ['--strip-mac', '--strip-subnet', '--strip-mac --add-mac=text --strip-subnet'];

describeBesideReal(`EDNS options beside the real dnsmasq${WITHOUT}`, () => {
  let upstream: FakeUpstream;
  let seen: string[];

  beforeAll(async () => {
    upstream = await FakeUpstream.start((query) => {
      seen.push(optText(query.bytes.subarray(0, query.length)));
      return [echoingResponse(query, { answers: addressRecords(60, '10.99.99.99') })];
    });
  });

  afterEach(() => endPrograms());
  afterAll(() => upstream.close());

  async function serveBoth(line: string): Promise<Serving[]> {
    const all = ['--no-resolv', '--no-hosts', '-k', '--log-facility=-'];
    const argv = [...all, `--server=${upstream.text}`, ...line.split(' ')];
    return Promise.all([serve(argv), serveReal(argv)]);
  }

  /** Asks twice for the same: what went upstream, and what came back. */
  async function ask({ port }: Serving, name: string, options: readonly string[] | undefined) {
    seen = [];
    const message =
      options === undefined ? queryMessage({ name }) : queryWithOptions({ name }, ...options);
    const first = optText(await exchangeUdp(port, message));
    const second = optText(await exchangeUdp(port, message));
    return { options, seen, first, second };
  }

  async function compare(
    line: string,
    sent: readonly (readonly string[] | undefined)[],
  ): Promise<void> {
    const [ours, real] = await serveBoth(line);
    for (const [i, options] of sent.entries()) {
      const expected = await ask(real!, `n${i}.example`, options);
      expect(await ask(ours!, `n${i}.example`, options)).toEqual(expected);
    }
  }

  it.each(SAME)('are the same: %s', (line) => compare(line, SENT));

  it.each(STRIPPING)('are the same where there is an OPT record: %s', (line) =>
    compare(line, SENT.slice(1)),
  );

  it('are the same without any of the options', () => compare('--log-async', SENT));

  it('differ: taking out adds no OPT record to a query without one', async () => {
    const [ours, real] = await serveBoth('--strip-mac');
    expect(await ask(real!, 'plain.example', undefined)).toMatchObject({ seen: ['512'] });
    expect(await ask(ours!, 'plain.example', undefined)).toMatchObject({
      seen: ['none'],
      first: 'none',
      second: 'none',
    });
  });

  it('differ: an option without data at the end of a query stays', async () => {
    const [ours, real] = await serveBoth('--add-cpe-id=x');
    expect(await ask(real!, 'end.example', ['3 '])).toMatchObject({ seen: ['1232 | 65074 78'] });
    expect(await ask(ours!, 'end.example', ['3 '])).toMatchObject({
      seen: ['1232 | 3  | 65074 78'],
    });
  });

  it('differ: answers with an identifier of one client are never cached, whatever other options there are', async () => {
    const [ours, real] = await serveBoth('--umbrella --add-subnet --strip-subnet');
    const sent = '1232 | 20292 4f444e53010000107f000001 | 8 00010000';
    expect(await ask(real!, 'cached.example', [])).toMatchObject({ seen: [sent], second: '1232' });
    expect(await ask(ours!, 'cached.example', [])).toMatchObject({
      seen: [sent, sent],
      second: sent,
    });
  });

  it('differ: a client that names its network is answered under --add-subnet', async () => {
    const [ours, real] = await serveBoth('--add-subnet=24');
    const message = queryWithOptions({ name: 'own.example' }, SUBNET);
    seen = [];
    const isSilent = exchangeUdp(real!.port, message, { timeoutMs: 500 }).then(
      () => false,
      () => true,
    );
    expect(await isSilent).toBe(true);
    expect(optText(await exchangeUdp(ours!.port, message))).toBe(`1232 | ${SUBNET}`);
    expect(seen).toEqual([`1232 | ${SUBNET}`, `1232 | ${SUBNET}`]);
  });
});
