import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import {
  addressRecords,
  Dnsmasq,
  encodeQuery,
  exchange,
  ownedBy,
  ScriptedNameServer,
  until,
} from '@kube-dns/testkit';

const opened = ownedBy(afterEach);
const NAMES = ['web.zone.test', 'none.zone.test', 'web.zone.test', 'other.test'];

/** A server that announces no changes, as CoreDNS. */
function withoutSessions(): Promise<ScriptedNameServer> {
  return ScriptedNameServer.start(({ question: { name } }) =>
    name.startsWith('none') ? { rcode: 'NXDOMAIN' } : { answers: addressRecords(30, '10.0.0.1') },
  );
}

/** What the server was asked over UDP and what the clients got, without IDs. */
async function recorded(...args: string[]): Promise<{ asked: string[]; got: string[] }> {
  const server = opened(await withoutSessions());
  const dnsmasq = opened(
    await Dnsmasq.start({
      args: [
        `--server=/zone.test/${server.text}`,
        `--server=${server.text}`,
        '--negcache=push',
        ...args,
      ],
    }),
  );
  await dnsmasq.ready();
  if (args.length === 0) await dnsmasq.server.waitForLine(/does not announce changes of zone.test/);
  const text = (message: Uint8Array) => Buffer.from(message).toString('hex', 2);
  const got: string[] = [];
  for (const name of NAMES)
    got.push(text(await exchange(dnsmasq.ports.dns, encodeQuery({ name }))));
  const queries = server.requests.filter(({ protocol }) => protocol === 'udp');
  // Probes of a server that is late repeat a question.
  return { asked: [...new Set(queries.map(({ query }) => text(query)))], got };
}

it('a server that announces no changes is asked, and its answers are given, byte for byte as without --negcache=push', async () => {
  const subscribing = await recorded();
  expect(subscribing.asked).toHaveLength(3);
  expect(subscribing).toEqual(await recorded('--no-subscribe'));
});

/** A port that counts its connections over TCP. */
async function countingPort() {
  const server = createServer((socket) => {
    counting.connections++;
    socket.destroy();
  });
  const counting = { connections: 0, text: '', close: () => void server.close() };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  counting.text = `127.0.0.1#${(server.address() as AddressInfo).port}`;
  return opened(counting);
}

it('a server of all names gets no connection, unless --subscribe-all says so', async () => {
  const [ofAll, ofZone] = [await countingPort(), await countingPort()];
  const args = [`--server=${ofAll.text}`, `--server=/zone.test/${ofZone.text}`];
  const dnsmasq = opened(await Dnsmasq.start({ args }));
  await dnsmasq.ready();
  // It is the last one that would be asked.
  await until(() => ofZone.connections > 0);
  expect(ofAll.connections).toBe(0);
  opened(await Dnsmasq.start({ args: [...args, '--subscribe-all'] }));
  await until(() => ofAll.connections > 0);
});
