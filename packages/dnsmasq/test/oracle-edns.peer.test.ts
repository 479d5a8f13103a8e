import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import {
  addressRecords,
  ednsOf,
  ednsText,
  encodeQuery,
  endPrograms,
  exchange,
  ScriptedNameServer,
} from '@kube-dns/testkit';
import { serve, type Serving } from './processes.js';
import { describeBesideReal, serveReal } from './real-dnsmasq.js';

// Without the real dnsmasq there is nothing to compare with; Debian has it in dnsmasq-base.

const SUBNET = '8 00011800090909';
const MAC = '65001 020000000009';
const MAC_TEXT = '65073 74657874';
const CPE_ID = '65074 637065';
const UMBRELLA = '20292 4f444e5378';
const COOKIE = '10 3132333435363738';
/** The same with a server cookie of ours (RFC 9018). */
const OUR_COOKIE = new RegExp(`^1232 \\| ${COOKIE}01000000[0-9a-f]{24}$`);

const UNKNOWN = '3 ';
/** What clients send. */
const CLIENTS = [
  ...[[MAC], [MAC_TEXT], [CPE_ID], [UMBRELLA], [COOKIE], [SUBNET], [UNKNOWN]],
  ...[
    [SUBNET, COOKIE],
    [COOKIE, MAC, MAC_TEXT, UMBRELLA],
  ],
];

/** Options with which both send the same to servers for clients that send none, and cache the same. */
const SAME = [
  ...['--add-cpe-id=hello', '--add-cpe-id='],
  ...['--umbrella', '--umbrella=deviceid:0123456789abcdef,orgid:1,assetid:4294967295'],
  // This machine has no MAC.
  ...['--add-mac', '--add-mac=base64', '--add-mac=text --add-mac'],
  ...['--add-subnet --strip-subnet', '--add-subnet=24 --strip-subnet'],
  ...['--add-subnet=17,56 --strip-subnet', '--add-subnet=1.2.3.4/20,::1/64 --strip-subnet'],
  ...['--add-subnet=1:2:3::/20 --strip-subnet', '--add-subnet=0,5', '--add-subnet=24'],
  '--add-cpe-id=x --umbrella=orgid:7 --add-subnet=32 --strip-subnet --add-mac',
];
describeBesideReal('EDNS options beside the real dnsmasq', () => {
  let upstream: ScriptedNameServer;
  let seen: string[];

  beforeAll(async () => {
    upstream = await ScriptedNameServer.start(({ query }) => {
      seen.push(ednsText(query));
      const options = ednsOf(query)?.options ?? [];
      return { answers: addressRecords(60, '10.99.99.99'), options };
    });
  });

  afterEach(() => endPrograms());
  afterAll(() => upstream.close());

  function argvOf(line: string): string[] {
    const all = ['--no-resolv', '--no-hosts', '-k', '--log-facility=-'];
    return [...all, `--server=${upstream.text}`, ...line.split(' ')];
  }

  async function serveBoth(line: string): Promise<Serving[]> {
    const argv = argvOf(line);
    return Promise.all([serve(argv), serveReal(argv)]);
  }

  /** Asks twice for the same: what went upstream, and what came back. */
  async function ask({ port }: Serving, name: string, options: readonly string[] | undefined) {
    seen = [];
    const message = encodeQuery({ name, ...(options && { options }) });
    const first = ednsText(await exchange(port, message));
    const second = ednsText(await exchange(port, message));
    return { options, seen, first, second };
  }

  /** What went to the server in one OPT record, without its size: ours always has one. */
  const optionsIn = (opt: string) => opt.split(' | ').slice(1);

  it.each(SAME)('are the same: %s', async (line) => {
    const [ours, real] = await serveBoth(line);
    for (const [i, options] of [undefined, []].entries()) {
      const expected = await ask(real!, `n${i}.example`, options);
      const actual = await ask(ours!, `n${i}.example`, options);
      expect(actual.seen.map(optionsIn)).toEqual(expected.seen.map(optionsIn));
      expect(new Set(actual.seen.map((opt) => opt.split(' ')[0]))).toEqual(new Set(['1232']));
    }
  });

  it.each(['--log-async', ...SAME])('differ: none of a client leaves: %s', async (line) => {
    const ours = await serve(argvOf(line));
    const [expected] = (await ask(ours, 'plain.example', [])).seen;
    for (const [i, options] of CLIENTS.entries()) {
      const { seen: sent, first, second } = await ask(ours, `n${i}.example`, options);
      if (!options.includes(SUBNET) || !line.includes('subnet') || line.includes('strip')) {
        expect([...new Set(sent)]).toEqual([expected]);
      }
      const answered = options.includes(COOKIE) ? expect.stringMatching(OUR_COOKIE) : '1232';
      if (!options.includes(SUBNET)) expect([first, second]).toEqual([answered, answered]);
    }
  });

  it('differ: a cookie is of ours, on a hit too; the real one passes on what the server has', async () => {
    const [ours, real] = await serveBoth('--log-async');
    const theirs = await ask(real!, 'cookie.example', [COOKIE]);
    expect(theirs).toMatchObject({ first: `1232 | ${COOKIE}`, second: '1232' });
    const ownAnswers = await ask(ours!, 'cookie.example', [COOKIE]);
    const cookie = expect.stringMatching(OUR_COOKIE);
    expect(ownAnswers).toMatchObject({ seen: ['1232'], first: cookie, second: cookie });
  });

  it('differ: answers with an identifier of one client are never cached, whatever other options there are', async () => {
    const [ours, real] = await serveBoth('--umbrella --add-subnet --strip-subnet');
    const sent = '1232 | 20292 4f444e53010000107f000001 | 8 00010000';
    expect(await ask(real!, 'cached.example', [])).toMatchObject({ seen: [sent], second: '1232' });
    expect(await ask(ours!, 'cached.example', [])).toMatchObject({ seen: [sent, sent] });
  });

  it('differ: a client that names its network is answered under --add-subnet', async () => {
    const [ours, real] = await serveBoth('--add-subnet=24');
    const message = encodeQuery({ name: 'own.example', options: [SUBNET] });
    seen = [];
    const probe = encodeQuery({ name: 'later.example', id: 0x7777 });
    const first = await exchange(real!.port, message, { after: probe });
    expect(first.subarray(0, 2)).toEqual(probe.subarray(0, 2));
    seen = seen.slice(0, 1);
    expect(ednsText(await exchange(ours!.port, message))).toBe(`1232 | ${SUBNET}`);
    expect(seen).toEqual([`1232 | ${SUBNET}`, `1232 | ${SUBNET}`]);
  });
});
