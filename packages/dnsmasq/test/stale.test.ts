import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import {
  addressRecords,
  Dnsmasq,
  encodeQuery,
  needsPrograms,
  outputOf,
  ownedBy,
  type Script,
  ScriptedNameServer,
  timed,
  UdpClient,
  unless,
  until,
} from '@kube-dns/testkit';
import { decodeMessage } from '@kube-dns/wire';

const opened = ownedBy(afterEach);
const TIMEOUT_MS = 200;
/** What a busy machine may take beside. */
const SLACK_MS = 300;
const NAMES = Array.from({ length: 9 }, (_, i) => `known${i}.example`);
const FLOOD = 1_000;

const answers =
  (address: string, ttl: number): Script =>
  () => ({ answers: addressRecords(ttl, address) });
const silent: Script = () => null;

/** A dnsmasq whose cache has names that have expired, before an upstream that is silent now. */
async function startFrozen(...options: string[]) {
  const upstream = opened(await ScriptedNameServer.start(answers('10.0.0.1', 1)));
  const args = [`--stale=${TIMEOUT_MS}ms`, '--cache-size=100', `--server=${upstream.text}`];
  const dnsmasq = opened(await Dnsmasq.start({ args: [...args, ...options] }));
  await dnsmasq.ready();
  const { dns: port } = dnsmasq.ports;
  const client = opened(await UdpClient.connect(port));
  const ask = async (name: string) => {
    const query = encodeQuery({ name, type: 'A' });
    const { result, ...times } = await timed(() => client.ask(query));
    const message = decodeMessage(result);
    const [record] = message.answers;
    const text = record?.type === 'A' ? record.data : message.rcode;
    return { text, ...times };
  };
  for (const name of NAMES) await ask(name);
  await delay(1_100);
  upstream.script = silent;
  const dig = (...words: string[]) =>
    outputOf('dig', ['@127.0.0.1', '-p', String(port), '+tries=1', '+time=9', ...words]);
  return { upstream, dnsmasq, client, ask, dig };
}

const questionsOf = ({ requests }: ScriptedNameServer, name: string) =>
  requests.filter(({ question }) => question.name === name);

it('answers known names in time while upstream is frozen, others with SERVFAIL, and all when it is back', async () => {
  const { upstream, ask } = await startFrozen();
  const known = [];
  for (const name of NAMES.slice(0, 3)) known.push(await ask(name));
  expect(known.map(({ text }) => text)).toEqual(Array(3).fill('10.0.0.1'));
  known.sort((one, other) => one.elapsedMs - other.elapsedMs);
  expect(known[1]!.elapsedMs).toBeGreaterThanOrEqual(TIMEOUT_MS - 5);
  expect(known[1]!.runningMs).toBeLessThan(TIMEOUT_MS + SLACK_MS);

  const first = await ask('unknown.example');
  expect(first.text).toBe('SERVFAIL');
  expect(first.runningMs).toBeLessThan(1_800 + SLACK_MS);
  const following = await ask('other.example');
  expect(following.text).toBe('SERVFAIL');
  expect(following.runningMs).toBeLessThan(SLACK_MS);
  expect((await ask(NAMES[3]!)).text).toBe('10.0.0.1');

  upstream.script = answers('10.0.0.2', 60);
  const before = upstream.requests.length;
  await until('a probe', () => upstream.requests.length > before);
  await until('a fresh answer', async () => (await ask('again.example')).text === '10.0.0.2');
  for (const name of NAMES) expect((await ask(name)).text).toBe('10.0.0.2');
}, 30_000);

it('asks upstream once for a name, whatever clients ask', async () => {
  const { upstream, client, ask } = await startFrozen();
  const [name = ''] = NAMES;
  const before = questionsOf(upstream, name).length;
  for (let i = 0; i < FLOOD; i++) {
    client.send(encodeQuery({ id: i, name, type: 'A' }));
    if (i % 20 === 0) await delay(15);
  }
  expect((await ask(name)).text).toBe('10.0.0.1');
  // Retransmissions have the same ID.
  const asked = questionsOf(upstream, name).slice(before);
  expect(new Set(asked.map(({ query }) => query.readUInt16BE(0))).size).toBeLessThanOrEqual(2);
}, 30_000);

unless(needsPrograms('dig'), it)(
  'says by dig why, over UDP and TCP, also with --all-servers',
  async () => {
    const { dig } = await startFrozen('--all-servers');
    for (const words of [['+notcp'], ['+tcp'], ['+tcp']]) {
      const text = await dig(...words, NAMES[0]!);
      expect(text).toMatch(/EDE: 3 \(Stale Answer\): \(expired \d+ s ago\)/);
      expect(text).toMatch(/\t30\tIN\tA\t10\.0\.0\.1/);
    }
    expect(await dig('new.example')).toMatch(/EDE: 22 \(No Reachable Authority\)/);
  },
  30_000,
);
