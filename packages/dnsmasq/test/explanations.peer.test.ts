import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  addressRecords,
  endPrograms,
  needsPrograms,
  outputOf,
  type Script,
  ScriptedNameServer,
  unless,
} from '@kube-dns/testkit';
import { RCODE } from '@kube-dns/wire';
import { serve } from './processes.js';

const ADDRESSES: Readonly<Record<string, string>> = {
  'bogus.example': '198.18.0.1',
  'rebound.example': '10.0.0.1',
  'aliased.example': '192.0.2.7',
};
/** The text of an Extended DNS Error that the server has. */
const TEXTS: Readonly<Record<string, Buffer>> = {
  'emoji.example': Buffer.from('😀'.repeat(20)),
  'bytes.example': Buffer.of(0xff, 0xfe, 0x0a),
};
/** Other names are refused. */
const SCRIPT: Script = ({ name }) => {
  const text = TEXTS[name]?.toString('hex');
  if (text !== undefined) {
    return { answers: addressRecords(30, '192.0.2.1'), options: [`15 0006${text}`] };
  }
  const address = ADDRESSES[name];
  return address === undefined
    ? { rcode: RCODE.REFUSED }
    : { answers: addressRecords(30, address) };
};

let upstream: ScriptedNameServer;
let port = 0;

beforeAll(async () => {
  upstream = await ScriptedNameServer.start(SCRIPT);
  const server = `--server=${upstream.text}`;
  const rules = ['--address=/given.example/10.0.0.9', '--local=/local.example/'];
  const filters = ['--bogus-nxdomain=198.18.0.0/24', '--stop-dns-rebind', '--filterwin2k'];
  const others = ['--synth-domain=made.example,10.9.0.0/24,host-', '--filter-AAAA', '-b', '-D'];
  const alias = '--alias=192.0.2.7,198.51.100.7';
  const options = ['-k', '-R', '-h', '--no-subscribe', '--host-record=host.example,10.0.0.8'];
  ({ port } = await serve([...options, alias, server, ...rules, ...filters, ...others]));
});

afterAll(async () => {
  await endPrograms();
  await upstream.close();
});

/** What dig says of the Extended DNS Error of an answer. */
async function dug(...question: readonly string[]): Promise<string> {
  const text = await outputOf('dig', ['@127.0.0.1', '-p', String(port), ...question]);
  // Older ones have no name for 29.
  return /^; EDE: (.*)$/m.exec(text)?.[1]?.replace('29 (Synthesized)', '29') ?? 'none';
}

unless(needsPrograms('dig'), it).each([
  [['given.example'], '4 (Forged Answer): (--address)'],
  [['x.local.example'], '15 (Blocked): (local domain)'],
  [['host-10-9-0-1.made.example'], '29: (--synth-domain)'],
  [['-x', '10.200.0.1'], '15 (Blocked): (--bogus-priv)'],
  [['onelabel'], '15 (Blocked): (--domain-needed)'],
  [['srv.example', 'SRV'], '17 (Filtered): (--filterwin2k)'],
  [['bogus.example'], '15 (Blocked): (--bogus-nxdomain)'],
  [['rebound.example'], '15 (Blocked): (--stop-dns-rebind)'],
  [['aliased.example'], '4 (Forged Answer): (--alias)'],
  [['aliased.example'], '4 (Forged Answer): (--alias)'],
  [['emoji.example'], `6 (DNSSEC Bogus): (upstream: ${'😀'.repeat(7)})`],
  [['emoji.example'], `6 (DNSSEC Bogus): (upstream: ${'😀'.repeat(7)})`],
  [['bytes.example'], '6 (DNSSEC Bogus): (upstream: ???)'],
  [['bytes.example'], '6 (DNSSEC Bogus): (upstream: ???)'],
  [['host.example', 'AAAA'], '17 (Filtered): (filtered type)'],
  [['x.bind', 'TXT', 'CH'], '21 (Not Supported)'],
  [['other.example'], '22 (No Reachable Authority): (REFUSED SERVER)'],
])('the reason of the answer to %j is %s', async (question, reason) => {
  expect((await dug(...question)).replace(upstream.text, 'SERVER')).toBe(reason);
});
