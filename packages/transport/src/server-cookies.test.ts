import { describe, expect, it } from '@jest/globals';
import { COOKIE_OPTION_BYTES, Query } from '@kube-dns/wire';
import { clientAt } from '../test/client-at.js';
import { ServerCookies } from './server-cookies.js';

const SECRET = 'e5e973e5a6b2a43f48e7dc849e37bfcf';
const OTHER = '445536bcd2513298075a5d379663c962';
const CLIENT = '2464c4abcf10c957';
const ADDRESS = '198.51.100.100';
const MADE_AT = 1_559_731_985;

function hex(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'hex'));
}

/** What a query with this cookie gets at this time: what its own was, and the new one. */
function judge(
  cookie: string,
  nowSeconds: number,
  { address = ADDRESS, secrets = [SECRET] }: { address?: string; secrets?: string[] } = {},
): [string, string] {
  const cookies = new ServerCookies({ nowMs: () => nowSeconds * 1_000 + 999 });
  const [current, ...others] = secrets.map(hex);
  cookies.use([current!, ...others]);
  const query = new Query();
  query.bytes = hex(cookie);
  query.cookieBytes = query.bytes.length;
  const state = cookies.judge(query, clientAt(address));
  return [state, Buffer.from(cookies.option).toString('hex').slice(8)];
}

describe('the examples of RFC 9018, appendix A', () => {
  it('1: a client without a server cookie', () => {
    const made = `${CLIENT}010000005cf79f111f8130c3eee29480`;
    expect(judge(CLIENT, MADE_AT)).toEqual(['none', made]);
  });

  it('2: one that is older than half an hour', () => {
    const sent = `${CLIENT}010000005cf79f111f8130c3eee29480`;
    const made = `${CLIENT}010000005cf7a871d4a564a1442aca77`;
    expect(judge(sent, 1_559_734_385)).toEqual(['good', made]);
  });

  // There it is taken after 112 minutes, against the hour of section 4.3.
  it('3: one with reserved bytes', () => {
    const sent = 'fc93fc62807ddb8601abcdef5cf78f71a314227b6679ebf5';
    const made = 'fc93fc62807ddb86010000005cf7a9acf73a7810aca2381e';
    const address = '203.0.113.203';
    expect(judge(sent, 1_559_734_700, { address })).toEqual(['old', made]);
    expect(judge(sent, 1_559_727_985, { address })).toEqual(['good', sent]);
  });

  it('4: one over IPv6, made with the last secret', () => {
    const sent = '22681ab97d52c298010000005cf7c57926556bd0934c72f8';
    const made = '22681ab97d52c298010000005cf7c609a6bb79d16625507a';
    const address = '2001:db8:220:1:59de:d0f4:8769:82b8';
    const secrets = [OTHER, 'dd3bdf9344b678b185a6f5cb60fca715'];
    expect(judge(sent, 1_559_741_961, { address, secrets })).toEqual(['good', made]);
    expect(judge(sent, 1_559_741_961, { address, secrets: [OTHER] })).toEqual(['bad', made]);
  });
});

describe('a server cookie', () => {
  const sent = `${CLIENT}010000005cf79f111f8130c3eee29480`;

  it.each([
    [0, 'good', true],
    [1_800, 'good', true],
    [1_801, 'good', false],
    [3_600, 'good', false],
    [3_601, 'old', false],
    [-300, 'good', true],
    [-301, 'old', false],
    [2 ** 31, 'old', false],
  ])('of %d s is %s, and stays: %s', (age, state, stays) => {
    const [seen, made] = judge(sent, MADE_AT + age);
    expect([seen, made === sent]).toEqual([state, stays]);
  });

  it('counts its time modulo 2^32', () => {
    const now = 2 ** 32 - 10;
    const [, early] = judge(CLIENT, now);
    expect(judge(early, now + 20)).toEqual(['good', early]);
  });

  it.each([
    ['another client cookie', `ff${sent.slice(2)}`],
    ['another version', sent.replace('01000000', '02000000')],
    ['another reserved byte', sent.replace('01000000', '01000001')],
    ['another time', sent.replace('5cf79f11', '5cf79f12')],
    ['another hash', sent.replace(/80$/, '81')],
    ['8 bytes', sent.slice(0, 32)],
    ['32 bytes', sent + '00'.repeat(16)],
  ])('with %s is bad, and gets a good one', (_, other) => {
    const [state, made] = judge(other, MADE_AT);
    expect(state).toBe('bad');
    expect(made.slice(0, 16)).toBe(other.slice(0, 16));
    expect(judge(made, MADE_AT)).toEqual(['good', made]);
  });

  it('of another address is bad', () => {
    expect(judge(sent, MADE_AT, { address: '198.51.100.101' })[0]).toBe('bad');
  });

  it('of a random secret is that of one process', () => {
    const query = new Query();
    query.bytes = hex(CLIENT);
    query.cookieBytes = 8;
    const made = [1, 2].map(() => {
      const cookies = new ServerCookies({ nowMs: () => 0 });
      cookies.judge(query, clientAt(ADDRESS));
      return Buffer.from(cookies.option).toString('hex');
    });
    expect(made[0]).toHaveLength(2 * COOKIE_OPTION_BYTES);
    expect(made[0]).not.toBe(made[1]);
  });
});

describe('a required cookie', () => {
  it('is needed above the rate, and not on this machine', () => {
    let nowMs = 0;
    const cookies = new ServerCookies({ requiredAbove: 2, uptimeMs: () => nowMs });
    const remote = clientAt(ADDRESS);
    expect([1, 2, 3].map(() => cookies.admits(remote))).toEqual([true, true, false]);
    for (const local of ['127.0.0.1', '127.9.9.9', '::1']) {
      expect(cookies.admits(clientAt(local))).toBe(true);
    }
    for (const other of ['::2', 'fd00::1']) expect(cookies.admits(clientAt(other))).toBe(false);
    nowMs = 500;
    expect([1, 2].map(() => cookies.admits(remote))).toEqual([true, false]);
  });

  it('is needed for each query with rate 0, for none without a rate', () => {
    const remote = clientAt(ADDRESS);
    expect(new ServerCookies({ requiredAbove: 0 }).admits(remote)).toBe(false);
    expect(new ServerCookies().admits(remote)).toBe(true);
  });
});
