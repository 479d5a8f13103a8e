import { afterEach, describe, expect, it } from '@jest/globals';
import {
  ask,
  Dnsmasq,
  ednsOf,
  encodeQuery,
  exchange,
  freePort,
  ownedBy,
  until,
} from '@kube-dns/testkit';

const opened = ownedBy(afterEach);
const MAX_PACKETS = 20;
const PROGRAMS = 3;

/** Programs each of which forwards to the next one, and the last one to the first, with these options. */
async function ring(serverOf: (port: number) => string): Promise<Dnsmasq[]> {
  const ports: number[] = [];
  for (let i = 0; i < PROGRAMS; i++) ports.push(await freePort());
  const all = ports.map((dns, i) => {
    const args = [serverOf(ports[(i + 1) % PROGRAMS]!), '--query-timeout=4500'];
    return Dnsmasq.start({ args, ports: { dns } });
  });
  const started = await Promise.all(all);
  for (const each of started) opened(each);
  await Promise.all(started.map((each) => each.ready()));
  return started;
}

async function packetsOf(programs: readonly Dnsmasq[]): Promise<number> {
  const pages = await Promise.all(programs.map((each) => each.metrics()));
  return pages.reduce(
    (sum, page) => sum + (page.sum('dnsmasq_upstream_server_queries_total') || 0),
    0,
  );
}

async function isIdle(programs: readonly Dnsmasq[]): Promise<boolean> {
  const pages = await Promise.all(programs.map((each) => each.metrics()));
  return pages.every((page) => (page.sum('dnsmasq_upstream_in_flight') || 0) === 0);
}

describe('attack 13: forwarders in a ring make few packets of a query, and say why it fails', () => {
  it.each([
    ['all names', (port: number) => `--server=127.0.0.1#${port}`],
    ['a stub domain', (port: number) => `--server=/loop.example/127.0.0.1#${port}`],
  ])('for %s', async (_what, serverOf) => {
    const programs = await ring(serverOf);
    const [first] = programs;
    const { dns } = first!.ports;
    const questions = [
      { name: 'plain.loop.example', ednsBytes: 1_232 },
      { name: 'nord.loop.example', ednsBytes: 1_232, isRecursionDesired: false },
    ];
    for (const question of questions) {
      const before = await packetsOf(programs);
      const reply = await exchange(dns, encodeQuery(question));
      expect(reply[3]! & 15).toBe(2);
      expect(ednsOf(reply)?.options.some((option) => option.startsWith('15 '))).toBe(true);
      await until(() => isIdle(programs));
      const packets = (await packetsOf(programs)) - before;
      expect(packets).toBeGreaterThanOrEqual(PROGRAMS);
      expect(packets).toBeLessThanOrEqual(MAX_PACKETS);
    }
    const before = await packetsOf(programs);
    const { rcode } = await ask(dns, 'tcp.loop.example', { isOverTcp: true });
    expect(rcode).toBe('SERVFAIL');
    await until(() => isIdle(programs));
    expect((await packetsOf(programs)) - before).toBeLessThanOrEqual(MAX_PACKETS);
  });
});
