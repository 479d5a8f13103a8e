import { hostname } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { encodeKey, readQuery } from '@kube-dns/wire';
import { decodeMessage, encodeQuery } from '@kube-dns/testkit';
import { recordedLog } from '../../test/recorded-log.js';
import { parseOptions } from '../options/parse-options.js';
import { LocalData } from './local-data.js';

const HOST = '--host-record=multi.x,10.0.0.1';
const out = Buffer.alloc(4_096);

async function load(...argv: string[]): Promise<LocalData> {
  const options = parseOptions(['--no-hosts', '--conf-file=/dev/null', ...argv]);
  const local = new LocalData({ options, log: recordedLog() });
  await local.reload();
  local.close();
  return local;
}

/** The answer of hosts and static records, else that by rule; undefined when there is neither. */
function answerOf(local: LocalData, name: string, type = 'A', client = '127.0.0.1') {
  const query = readQuery(encodeQuery({ name, type }));
  const length = local.answer(query, out, { address: client }) || local.answerByRule(query, out);
  if (length === 0) return undefined;
  const { texts, rcode } = decodeMessage(Buffer.from(out.subarray(0, length)));
  return texts.length === 0 ? rcode : [...texts].sort();
}

describe('the MX record of a host that has none', () => {
  const mx = (preference: number, exchange: string) => [
    `MX ${JSON.stringify({ preference, exchange })}`,
  ];

  it('leads to the target under --localmx, and to the host under --selfmx', async () => {
    const toTarget = await load(HOST, '--localmx', '--mx-target=mail.x');
    expect(answerOf(toTarget, 'multi.x', 'MX')).toEqual(mx(1, 'mail.x'));
    expect(answerOf(toTarget, hostname(), 'MX')).toEqual(mx(0, 'mail.x'));
    expect(answerOf(toTarget, 'other.x', 'MX')).toBeUndefined();
    const toItself = await load(HOST, '--localmx', '--selfmx', '--mx-host=has.x,other.x');
    expect(answerOf(toItself, 'Multi.X', 'MX')).toEqual(mx(1, 'Multi.X'));
    expect(answerOf(toItself, 'has.x', 'MX')).toEqual(mx(1, 'other.x'));
  });

  it('is not there unless it is asked for', async () => {
    expect(answerOf(await load(HOST), 'multi.x', 'MX')).toBeUndefined();
  });
});

describe('--localise-queries', () => {
  const options = [HOST, '--host-record=multi.x,127.0.0.9', '--host-record=multi.x,127.1.0.9,::9'];

  it('returns a client the addresses in its network, and others all of them', async () => {
    const local = await load('--localise-queries', ...options);
    const near = ['A 127.0.0.9', 'A 127.1.0.9'];
    expect(answerOf(local, 'multi.x', 'A', '127.9.9.9')).toEqual(near);
    for (const client of ['198.51.100.1', 'fd99::1']) {
      expect(answerOf(local, 'multi.x', 'A', client)).toEqual(['A 10.0.0.1', ...near]);
    }
    expect(answerOf(local, 'multi.x', 'AAAA')).toEqual(['AAAA ::9']);
  });

  it('is off unless it is given', async () => {
    expect(answerOf(await load(...options), 'multi.x')).toHaveLength(3);
  });
});

describe('--synth-domain', () => {
  it('answers made names and their reverse, also those of private addresses', async () => {
    const local = await load('--synth-domain=s.x,10.0.0.0/24,p-', '--bogus-priv');
    expect(answerOf(local, 'p-10-0-0-7.s.x')).toEqual(['A 10.0.0.7']);
    expect(answerOf(local, '7.0.0.10.in-addr.arpa', 'PTR')).toEqual(['PTR p-10-0-0-7.s.x']);
    expect(answerOf(local, '7.1.0.10.in-addr.arpa', 'PTR')).toBe('NXDOMAIN');
    expect(answerOf(local, 'p-10-0-0-7.s.x', 'TXT')).toBeUndefined();
  });

  it('makes names exist, also in a local domain', async () => {
    const local = await load('--synth-domain=s.x,10.0.0.0/24,p-', '--local=/s.x/');
    expect(answerOf(local, 'p-10-0-0-7.s.x', 'TXT')).toBe('NOERROR');
    expect(answerOf(local, 'q.s.x', 'TXT')).toBe('NXDOMAIN');
    expect(local.hasName(encodeKey('p-10-0-0-7.s.x'))).toBe(true);
  });
});
