import { afterEach, describe, expect, it } from '@jest/globals';
import { endPrograms, ScriptedNameServer } from '@kube-dns/testkit';
import { exchangeUdp, readAnswer } from './client.js';
import { optText, queryWithOptions } from './edns-messages.js';
import { serve } from './processes.js';

/** `forwarding loop` as the text of the Extended DNS Error 0. */
const LOOP = `15 0000${Buffer.from('forwarding loop').toString('hex')}`;
const QUERY_TIMEOUT_MS = 4_500;
const MAX_PACKETS = 20;
let relays: ScriptedNameServer[] = [];

afterEach(async () => {
  await endPrograms();
  await Promise.all(relays.map((relay) => relay.close()));
  relays = [];
});

describe('forwarders that point at each other', () => {
  it.each([1, 2, 3])('make few packets of one query, and say so: %d of them', async (count) => {
    for (let i = 0; i < count; i++) relays.push(await ScriptedNameServer.start(() => null));
    const pending: Promise<unknown>[] = [];
    const ring = await Promise.all(
      relays.map(({ text }) => serve(['-R', '--no-hosts', `--server=${text}`])),
    );
    relays.forEach((relay, i) => {
      const { port } = ring[(i + 1) % count]!;
      relay.script = ({ query }) => {
        const relayed = exchangeUdp(port, query, { timeoutMs: QUERY_TIMEOUT_MS }).then(
          (reply) => [reply],
          () => null,
        );
        pending.push(relayed);
        return relayed;
      };
    });
    const startedMs = performance.now();
    const message = queryWithOptions({ name: 'in.a.loop.example' });
    const answer = await exchangeUdp(ring[0]!.port, message, { timeoutMs: 10_000 });
    expect(performance.now() - startedMs).toBeLessThan(QUERY_TIMEOUT_MS);
    expect(readAnswer(answer).rcode).toBe('SERVFAIL');
    expect(optText(answer)).toBe(`1232 | ${LOOP}`);
    const packets = () => relays.reduce((sum, { requests }) => sum + requests.length, 0);
    await Promise.all(pending);
    expect(packets()).toBeLessThan(MAX_PACKETS);
  });
});
