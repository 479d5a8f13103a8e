import { afterEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ownedBy, UdpClient, unless, until } from '@kube-dns/testkit';
import { BatchEngine } from '../src/batch/batch-engine.js';
import { EAGAIN, ECONNREFUSED, EMSGSIZE } from '../src/batch/constants.js';
import { type Libc, loadLibc } from '../src/batch/libc.js';
import { ListenerCounters } from '../src/counters.js';
import type { Peer } from '../src/udp-engine.js';
import { NO_BATCH } from './engines.js';
import { itOverIPv6 } from './ipv6.js';

const EPERM = 1;
const EIO = 5;
const opened = ownedBy(afterEach);
/** Of a struct mmsghdr: how many parts its message has. */
const PARTS_AT = 24;
const HEADER_BYTES = 64;

/** Sees what is sent, and refuses joined messages as long as `errno` is not 0. */
class WatchedSends {
  errno = 0;
  /** How often it refuses; without end unless given. */
  refusals = Infinity;
  refused = 0;
  /** Refuses single messages, too. */
  refusesAll = false;
  /** The number of datagrams in each send. */
  readonly sends: number[] = [];
  #hasRefused = false;

  async libc(): Promise<Libc> {
    const libc = await loadLibc();
    return {
      ...libc,
      sendmmsg: (fd, headers, count, flags) => {
        const view = new DataView(headers.buffer, headers.byteOffset);
        const parts = Array.from({ length: count }, (_, i) =>
          view.getInt32(i * HEADER_BYTES + PARTS_AT, true),
        );
        const firstJoined = parts.findIndex((each) => each > 1);
        const isRefusing = this.errno !== 0 && this.refused < this.refusals;
        this.#hasRefused = isRefusing && (firstJoined === 0 || this.refusesAll);
        if (this.#hasRefused) {
          this.refused++;
          return -1;
        }
        const accepted = isRefusing && firstJoined > 0 ? firstJoined : count;
        const sent = libc.sendmmsg(fd, headers, accepted, flags);
        this.sends.push(...parts.slice(0, Math.max(0, sent)));
        return sent;
      },
      errno: () => (this.#hasRefused ? this.errno : libc.errno()),
    };
  }
}

interface Sent {
  readonly client: number;
  readonly bytes: Buffer;
}

/** A socket of the engine with some clients, which takes down what the clients are sent. */
async function start(libc: Libc, clientCount: number, addresses = ['127.0.0.1']) {
  const engine = new BatchEngine(libc);
  const counters = new ListenerCounters();
  const socket = opened(engine.createSocket(counters));
  const peers: Peer[] = [];
  const isIpv6 = addresses[0]!.includes(':');
  await socket.open(isIpv6 ? '::' : '0.0.0.0', 0, (bytes, _length, peer) => {
    peers[bytes[0]!] = socket.retain(peer);
  });
  const clients: UdpClient[] = [];
  for (let i = 0; i < clientCount; i++) {
    const client = await UdpClient.connect(socket.port, addresses[i % addresses.length]);
    clients.push(opened(client));
    client.send(Buffer.of(i));
    await until(() => peers[i] !== undefined);
  }
  const sendAll = (messages: readonly Sent[]) =>
    engine.sendTogether(() => {
      for (const { client, bytes } of messages) socket.send(bytes, bytes.length, peers[client]!);
    });
  /** What each client gets, in some order. */
  const received = async (messages: readonly Sent[]) => {
    for (const [i, client] of clients.entries()) {
      const own = messages.filter((message) => message.client === i).map(({ bytes }) => bytes);
      const got = await client.inbox.take(own.length);
      expect(got.map((each) => each.toString('latin1')).sort()).toEqual(
        own.map((each) => each.toString('latin1')).sort(),
      );
      expect(client.inbox.length).toBe(0);
    }
  };
  return { engine, counters, sendAll, received };
}

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);

let number = 0;
/** A message unlike all others. */
function message(client: number, length: number): Sent {
  const bytes = Buffer.alloc(length, number);
  if (length >= 4) bytes.writeUInt32LE(number++);
  return { client, bytes };
}

const messages = (lengths: readonly number[], client = 0) =>
  lengths.map((length) => message(client, length));

unless(NO_BATCH, describe)('messages to one client', () => {
  it('of one length are one send', async () => {
    const watched = new WatchedSends();
    const { sendAll, received } = await start(await watched.libc(), 1);
    const all = messages(new Array<number>(64).fill(100));
    sendAll(all);
    expect(watched.sends).toEqual([64]);
    await received(all);
  });

  it.each<[string, number[], number[]]>([
    ['with a shorter one at the end', [90, 80, 90, 90], [4]],
    ['whose first is the shortest', [50, 90, 90], [3]],
    ['each with another length, in pairs', [50, 60, 70, 80, 90, 100], [2, 2, 2]],
    ['beyond what a path takes, alone', [1_400, 1_400], [1, 1]],
    ['of more than 64 KiB, in parts', new Array<number>(60).fill(1_232), [52, 8]],
    ['of one byte and more', [1, 2, 1], [2, 1]],
  ])('leave together %s', async (_what, lengths, sends) => {
    const watched = new WatchedSends();
    const { sendAll, received } = await start(await watched.libc(), 1);
    const all = messages(lengths);
    sendAll(all);
    expect([...watched.sends].sort((a, b) => b - a)).toEqual(sends);
    await received(all);
  });

  it('leave from the address that it asked', async () => {
    const watched = new WatchedSends();
    const { sendAll, received } = await start(await watched.libc(), 3, ['127.0.0.1', '127.0.0.2']);
    const all = [0, 1, 2, 0, 1, 2].map((client) => message(client, 40));
    sendAll(all);
    expect(watched.sends).toEqual([2, 2, 2]);
    await received(all);
  });

  itOverIPv6('are one send over IPv6', async () => {
    const watched = new WatchedSends();
    const { sendAll, received } = await start(await watched.libc(), 2, ['::1']);
    const all = [0, 1, 0, 1, 0].map((client) => message(client, 1_232));
    sendAll(all);
    expect([...watched.sends].sort()).toEqual([2, 3]);
    await received(all);
  });

  it('arrive whole, also when other clients get some, whatever their lengths are', async () => {
    const watched = new WatchedSends();
    const { sendAll, received } = await start(await watched.libc(), 12);
    const length = fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(40, 41, 60, 100) },
      { weight: 2, arbitrary: fc.integer({ min: 1, max: 1_400 }) },
      { weight: 1, arbitrary: fc.integer({ min: 1_200, max: 5_000 }) },
    );
    const one = fc.record({ client: fc.constantFrom(...numbers(12), 0, 0, 1, 1), length });
    let count = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(one, { minLength: 25, maxLength: 100 }), async (list) => {
        const all = list.map((each) => message(each.client, each.length));
        sendAll(all);
        await received(all);
        count += all.length;
      }),
      { numRuns: 50 },
    );
    expect(watched.sends.length).toBeLessThan(count);
  });

  it.each([
    ['EIO', EIO, 1],
    ['EMSGSIZE', EMSGSIZE, 2],
  ])('leave one by one when joined ones fail with %s', async (_name, errno, tries) => {
    const watched = new WatchedSends();
    watched.errno = errno;
    const { sendAll, received, counters } = await start(await watched.libc(), 2);
    for (let round = 0; round < 2; round++) {
      const all = [...messages([40, 40, 50, 40, 40]), message(1, 60)];
      sendAll(all);
      await received(all);
    }
    // A path may be too narrow for one client; any other error ends the joining of the socket.
    expect(watched.refused).toBe(tries);
    expect(new Set(watched.sends)).toEqual(new Set([1]));
    expect(counters.sendErrors).toBe(0);
  });

  it('are joined again after errors that single ones have, too', async () => {
    const watched = new WatchedSends();
    const { sendAll, received, counters } = await start(await watched.libc(), 1);
    Object.assign(watched, { errno: EPERM, refusesAll: true });
    sendAll(messages([40, 40, 40]));
    expect(counters.sendErrors).toBe(3);
    watched.errno = 0;
    const all = messages([40, 40, 40]);
    sendAll(all);
    expect(watched.sends).toEqual([3]);
    await received(all);
  });

  it('are sent once more when the error was that of an earlier one', async () => {
    const watched = new WatchedSends();
    Object.assign(watched, { errno: ECONNREFUSED, refusals: 1 });
    const { sendAll, received } = await start(await watched.libc(), 1);
    const all = messages([40, 40, 40]);
    sendAll(all);
    expect(watched.sends).toEqual([3]);
    await received(all);
  });

  it('wait, each as it is, while the system takes none', async () => {
    const watched = new WatchedSends();
    Object.assign(watched, { errno: EAGAIN, refusals: 1 });
    const { sendAll, received, counters } = await start(await watched.libc(), 3);
    const all = [2, 0, 1, 0, 1, 2, 0, 1].map((client) => message(client, 30 + client));
    sendAll(all);
    expect(watched.sends).toEqual([]);
    await received(all);
    expect(watched.sends).toEqual([2, 3, 3]);
    expect(counters.sendErrors).toBe(0);
  });

  it('are not joined where the system cannot, which its engine says', async () => {
    const watched = new WatchedSends();
    const libc = await watched.libc();
    const { engine, sendAll, received } = await start(
      {
        ...libc,
        setsockopt: (fd, level, ...rest) =>
          level === 17 ? -1 : libc.setsockopt(fd, level, ...rest),
        errno: () => 92,
      },
      1,
    );
    expect(engine.lack).toBe('without UDP_SEGMENT: ENOPROTOOPT, UDP_GRO: ENOPROTOOPT');
    const all = messages([40, 40, 40]);
    sendAll(all);
    await received(all);
    expect(watched.sends).toEqual([1, 1, 1]);
  });
});
