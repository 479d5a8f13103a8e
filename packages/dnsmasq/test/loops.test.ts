import { afterEach, describe, expect, it } from '@jest/globals';
import { endPrograms, ScriptedNameServer, timed } from '@kube-dns/testkit';
import { decodeName, FLAG } from '@kube-dns/wire';
import { exchangeUdp, type Question, readAnswer, readQuery } from '@kube-dns/resolver/testing';
import { optText, queryWithOptions } from './edns-messages.js';
import { serve } from './processes.js';

/** The text of the Extended DNS Error 0. */
const LOOP = loopText('forwarding loop');
/** A question that comes back changed is in flight twice: when the other flight ends first, the client's has its reason. */
const CHANGED_LOOP = [LOOP, loopText('upstream: forwarding loop')];
const QUERY_TIMEOUT_MS = 4_500;
/** A question that has no reply for a second is in doubt, whichever client asks it. */
const LATE_MS = 1_000;
/**
 * Of each question, through all relays. It takes 5 to 20: the question, the probe of a loop, and on a busy machine
 * one sending again, each once around the ring, and probes of servers that seem silent. A storm has no end: 1.4
 * million in the time of a question.
 */
const MAX_PACKETS = 40;
let relays: ScriptedNameServer[] = [];

afterEach(async () => {
  await endPrograms();
  await Promise.all(relays.map((relay) => relay.close()));
  relays = [];
});

function loopText(text: string): string {
  return `1232 | 15 0000${Buffer.from(text).toString('hex')}`;
}

/** A ring of dnsmasq's; between them are relays that are given each query. */
async function startRing(count: number, change = (query: Buffer): Buffer | null => query) {
  for (let i = 0; i < count; i++) relays.push(await ScriptedNameServer.start(() => null));
  const pending: Promise<unknown>[] = [];
  const ring = await Promise.all(
    relays.map(({ text }) => serve(['-R', '--no-hosts', `--server=${text}`])),
  );
  relays.forEach((relay, i) => {
    const { port } = ring[(i + 1) % count]!;
    relay.script = ({ query }) => {
      const changed = change(query);
      if (changed === null) return null;
      const relayed = exchangeUdp(port, changed, { timeoutMs: QUERY_TIMEOUT_MS }).then(
        (reply) => [reply],
        () => null,
      );
      pending.push(relayed);
      return relayed;
    };
  });
  return {
    port: ring[0]!.port,
    /** How many packets there were in all, once nothing is on its way. */
    packets: async () => {
      await Promise.all(pending);
      return relays.reduce((sum, { requests }) => sum + requests.length, 0);
    },
  };
}

/** The time that a question takes, which must end as a loop. */
async function timeOfLoop(port: number, question: Question, texts = [LOOP]): Promise<number> {
  const query = queryWithOptions(question);
  const ask = () => exchangeUdp(port, query, { timeoutMs: 10_000 });
  const { result: answer, runningMs } = await timed(ask);
  expect(readAnswer(answer).rcode).toBe('SERVFAIL');
  expect(texts).toContain(optText(answer));
  return runningMs;
}

describe('forwarders that point at each other', () => {
  it.each([1, 2, 3])('make few packets of one query, and say so: %d of them', async (count) => {
    const { port, packets } = await startRing(count);
    expect(await timeOfLoop(port, { name: 'in.a.loop.example' })).toBeLessThan(LATE_MS);
    expect(await timeOfLoop(port, { name: 'chaos.example', class: 'CH' })).toBeLessThan(LATE_MS);
    expect(await packets()).toBeLessThan(2 * MAX_PACKETS);
  });

  it('notice a loop that changes the question', async () => {
    const { port, packets } = await startRing(1, (query) => {
      const changed = Buffer.from(query);
      changed.writeUInt16BE(changed.readUInt16BE(2) ^ FLAG.CD, 2);
      return changed;
    });
    const timeMs = await timeOfLoop(port, { name: 'changed.example' }, CHANGED_LOOP);
    expect(timeMs).toBeLessThan(LATE_MS);
    expect(await packets()).toBeLessThan(MAX_PACKETS);
  });

  it('notice a loop that another forwarder ends', async () => {
    const asked = new Set<string>();
    const { port, packets } = await startRing(1, (query) => {
      // As one that waits for the reply to a question that it has sent.
      const { name } = readQuery(query);
      if (!decodeName(name).endsWith('ended.example')) return query;
      if (decodeName(name) === 'ended.example') return null;
      asked.add(decodeName(name));
      return query;
    });
    expect(await timeOfLoop(port, { name: 'ended.example' })).toBeLessThan(QUERY_TIMEOUT_MS);
    expect(asked.size).toBe(1);
    expect(await packets()).toBeLessThan(MAX_PACKETS);
  });
});
