import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  Dnsmasq,
  needsPrograms,
  outputOf,
  Owned,
  TemporaryFolder,
  TestAuthority,
  Unbound,
  unless,
} from '@kube-dns/testkit';

const NAME = 'dns.example';
const owned = new Owned();
const why = needsPrograms('unbound', 'dig');
let unbound: Unbound;
let ca: string;

beforeAll(async () => {
  if (why !== undefined) return;
  const authority = new TestAuthority();
  ca = owned.add(new TemporaryFolder()).file('ca.pem', authority.cert);
  const certificate = authority.issue({ names: [NAME], toDays: 20 });
  const address = '192.0.2.7';
  unbound = owned.add(await Unbound.start({ certificate, domain: 'tls.test', address }));
});
afterAll(() => owned.close());

/** dnsmasq in front of it. */
async function inFront(server: string, ...args: string[]): Promise<Dnsmasq> {
  const all = [`--server=/tls.test/${server}`, `--tls-ca=${ca}`, ...args];
  const dnsmasq = owned.add(await Dnsmasq.start({ args: all }));
  await dnsmasq.ready();
  return dnsmasq;
}

const dig = ({ ports }: Dnsmasq, ...words: string[]) =>
  outputOf('dig', ['@127.0.0.1', '-p', String(ports.dns), ...words]);

/** A metric of the name server. */
async function seriesOf(dnsmasq: Dnsmasq, name: string, labels = '.*'): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${dnsmasq.ports.metrics}/metrics`)).text();
  const series = new RegExp(`^dnsmasq_upstream_server_${name}\\{${labels}\\} (\\S+)$`, 'm');
  return Number(series.exec(text)?.[1]);
}

unless(why, it).each<[string, () => string]>([
  ['TLS', () => `tls://127.0.0.1#${unbound.ports.tls}%${NAME}`],
  ['HTTPS', () => `https://127.0.0.1:${unbound.ports.https}%${NAME}/dns-query`],
])('asks a real name server over %s, on one connection', async (_protocol, server) => {
  const dnsmasq = await inFront(server());
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) => dig(dnsmasq, '+short', `n${i}.tls.test`)),
  );
  expect(answers).toEqual(answers.map(() => '192.0.2.7'));
  expect(await seriesOf(dnsmasq, 'handshakes_total')).toBe(1);
  expect(await seriesOf(dnsmasq, 'connections')).toBe(1);
  const endsInDays =
    (await seriesOf(dnsmasq, 'certificate_end_timestamp_seconds')) / 86_400 - Date.now() / 86_400e3;
  expect(endsInDays).toBeGreaterThan(19);
  expect(endsInDays).toBeLessThan(21);
});

unless(why, it).each([
  ['another name than its certificate has', '%other.example'],
  ['its address, which its certificate does not have', ''],
])('never asks one with %s', async (_why, name) => {
  const dnsmasq = await inFront(`tls://127.0.0.1#${unbound.ports.tls}${name}`);
  const text = await dig(dnsmasq, 'www.tls.test');
  expect(text).toMatch(/status: SERVFAIL/);
  expect(text).toMatch(/^; EDE: 23 \(Network Error\): \(.*CERT_ALTNAME_INVALID.*\)$/m);
  await dnsmasq.server.waitForLine(/nameserver tls:.* its certificate has another name: correct/);
  expect(await seriesOf(dnsmasq, 'connections')).toBe(0);
  expect(await seriesOf(dnsmasq, 'failures_total', '.*reason="certificate"')).toBeGreaterThan(0);
});
