import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import {
  addressRecords,
  Dnsmasq,
  encodeQuery,
  encodeReply,
  ownedBy,
  ScriptedNameServer,
  TcpClient,
  UdpClient,
  until,
} from '@kube-dns/testkit';

const opened = ownedBy(afterEach);
const LIMIT = 1_024;
const QUESTIONS = 1_400;
const CLIENTS = 60;
/** A quarter for upstream servers, the clients, and what the process needs for itself. */
const MOST = LIMIT / 4 + CLIENTS + 64;
const CACHED = encodeQuery({ name: 'cached.example', type: 'A' });

it('answers TCP clients from the cache while 1,400 questions wait for TCP upstream, with ulimit -n 1024', async () => {
  let overUdp = 0;
  let overTcp = 0;
  const upstream = opened(
    await ScriptedNameServer.start(({ query, protocol, question }) => {
      if (question.name === 'cached.example') return { answers: addressRecords(300, '10.0.0.1') };
      if (protocol === 'udp') overUdp++;
      else overTcp++;
      return protocol === 'udp' ? [encodeReply(query, { isTruncated: true })] : null;
    }),
  );
  const limits = ['--dns-forward-max=1500', '--query-timeout=60000'];
  const args = ['--cache-size=100', ...limits, `--server=${upstream.text}`];
  const dnsmasq = opened(await Dnsmasq.start({ args, shell: `ulimit -n ${LIMIT}` }));
  await dnsmasq.ready();
  const client = opened(await UdpClient.connect(dnsmasq.ports.dns));
  await client.ask(CACHED);
  for (let i = 0; i < QUESTIONS; i++) {
    client.send(encodeQuery({ id: i, name: `n${i}.example`, type: 'A' }));
    if (i % 50 === 49) await until('the questions upstream', () => overUdp > i);
  }
  await until('questions over TCP', () => overTcp > 20);
  let answered = 0;
  for (let i = 0; i < CLIENTS; i++) {
    const tcp = opened(await TcpClient.connect(dnsmasq.ports.dns));
    tcp.send(CACHED);
    await tcp.inbox.next();
    answered++;
  }
  expect(answered).toBe(CLIENTS);
  expect(readdirSync(`/proc/${dnsmasq.server.pid}/fd`).length).toBeLessThan(MOST);
});

it('leaves descriptors to DNS where clients of its pages want all that it may have, with ulimit -n 100', async () => {
  const PAGES = 62;
  const dnsmasq = opened(await Dnsmasq.start({ args: [], shell: 'ulimit -n 100' }));
  await dnsmasq.ready();
  const openNow = () => readdirSync(`/proc/${dnsmasq.server.pid}/fd`).length;
  const before = openNow();
  let closed = 0;
  for (let i = 0; i < PAGES; i++) {
    const socket = connect({ host: '127.0.0.1', port: dnsmasq.ports.metrics });
    socket.on('error', () => undefined).on('close', () => closed++);
    opened({ close: () => void socket.destroy() });
  }
  await until('most are closed', () => closed >= PAGES - 3);
  expect(openNow()).toBeLessThanOrEqual(before + 3);
  const tcp = opened(await TcpClient.connect(dnsmasq.ports.dns));
  expect((await tcp.ask(CACHED)).length).toBeGreaterThan(0);
});
