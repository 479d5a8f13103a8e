import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import {
  addressRecords,
  againIfStalled,
  Dnsmasq,
  ownedBy,
  ScriptedNameServer,
  until,
} from '@kube-dns/testkit';
import { ask } from '@kube-dns/resolver/testing';

const opened = ownedBy(afterEach);
const ROUND_TRIP_MS = 300;
const QUERY_TIMEOUT_MS = 1_600;

/** A server with a long round trip. */
async function start(isSilent: (name: string) => boolean) {
  const upstream = opened(
    await ScriptedNameServer.start(async ({ question }) => {
      if (isSilent(question.name)) return null;
      await delay(ROUND_TRIP_MS);
      return { answers: addressRecords(30, '10.0.0.1') };
    }),
  );
  const args = [`--server=${upstream.text}`, `--query-timeout=${QUERY_TIMEOUT_MS}`];
  const dnsmasq = opened(await Dnsmasq.start({ args }));
  await dnsmasq.ready();
  const askAll = async (...names: string[]) => {
    const answers = names.map((name) => ask(dnsmasq.ports.dns, `${name}.example`));
    return (await Promise.all(answers)).map(({ rcode }) => rcode);
  };
  return { upstream, dnsmasq, askAll };
}

it('a server that is silent for three names, and replies to others, is not down', async () => {
  await againIfStalled(async () => {
    const { askAll } = await start((name) => name.startsWith('broken'));
    expect(await askAll('broken1', 'broken2', 'broken3')).toEqual(Array(3).fill('SERVFAIL'));
    expect(await askAll('a')).toEqual(['NOERROR']);
  });
}, 60_000);

it('a server that is back is up before the next client asks', async () => {
  await againIfStalled(async () => {
    let isSilent = true;
    const { upstream, dnsmasq, askAll } = await start(() => isSilent);
    const isUp = async () => (await dnsmasq.metrics()).sum('dnsmasq_upstream_server_up');
    await askAll('a', 'b', 'c');
    expect(await isUp()).toBe(0);
    expect(await askAll('d')).toEqual(['SERVFAIL']);
    isSilent = false;
    await until('the server is up', async () => (await isUp()) === 1);
    expect(upstream.names).not.toContain('e.example');
    expect(await askAll('e')).toEqual(['NOERROR']);
    const lines = [...dnsmasq.server.stderr.matchAll(/dnsmasq\] nameserver \S+ (.*)$/gm)];
    expect(lines.map(([, text]) => text)).toEqual([
      'does not reply - not used until it does',
      'replies again',
    ]);
  });
}, 60_000);
