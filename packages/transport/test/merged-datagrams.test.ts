import { afterEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Inbox, ownedBy, unless } from '@kube-dns/testkit';
import { encodeQuery, EVERY_ADDRESS } from '@kube-dns/wire';
import { type Answerer, NO_ANSWER_YET } from '../src/answerer.js';
import { BatchEngine } from '../src/batch/batch-engine.js';
import * as linux from '../src/batch/constants.js';
import { type Libc, loadLibc } from '../src/batch/libc.js';
import { MessageArena } from '../src/batch/message-arena.js';
import { encodeSocketName } from '../src/batch/batch-peer.js';
import { ListenerCounters } from '../src/counters.js';
import { listen } from '../src/listener.js';
import { UpstreamSockets } from '../src/forward/sockets.js';
import { NO_BATCH } from './engines.js';
import { HAS_IPV6 } from './ipv6.js';
import { answerWith, replyTo } from './messages.js';

const opened = ownedBy(afterEach);
const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);

/** The C library, and how many messages each recvmmsg received. */
async function watchedLibc(): Promise<{ libc: Libc; received: number[] }> {
  const libc = await loadLibc();
  const received: number[] = [];
  const recvmmsg: Libc['recvmmsg'] = (...call) => {
    const count = libc.recvmmsg(...call);
    if (count > 0) received.push(count);
    return count;
  };
  return { libc: { ...libc, recvmmsg }, received };
}

/** Sends `bytes` as datagrams of `segmentBytes`, in one call. */
async function sender(port: number) {
  const libc = await loadLibc();
  const fd = libc.socket(linux.AF_INET, linux.SOCK_DGRAM | linux.SOCK_CLOEXEC, 0);
  opened({ close: () => void libc.close(fd) });
  const name = encodeSocketName('127.0.0.1', port, false);
  libc.connect(fd, name, name.length);
  const arena = new MessageArena(libc, 65_536, 0);
  arena.words[arena.nameLengthAt(0)] = 0;
  arena.words[arena.controlLengthAt(0)] = 0;
  return (bytes: Uint8Array, segmentBytes: number) => {
    libc.setsockopt(fd, linux.SOL_UDP, linux.UDP_SEGMENT, Int32Array.of(segmentBytes), 4);
    arena.payloads[0]!.set(bytes);
    arena.setPayloadLength(0, bytes.length);
    expect(libc.sendmmsg(fd, arena.bytes, 1, 0)).toBe(1);
  };
}

/** What a socket of the engine receives, copied. */
async function receiver(libc: Libc) {
  const socket = opened(new BatchEngine(libc).createSocket(new ListenerCounters()));
  const inbox = new Inbox<Buffer>();
  await socket.open('127.0.0.1', 0, (bytes, length) => {
    inbox.push(Buffer.from(bytes.subarray(0, length)));
  });
  return { port: socket.port, inbox };
}

const byId: Answerer = {
  answer: (query, out) => answerWith(query, out, [`10.0.${query.id >> 8}.${query.id & 0xff}`]),
};

unless(NO_BATCH, describe)('datagrams that one send makes', () => {
  it('are received as one message, and each is handled as its own', async () => {
    const { libc, received } = await watchedLibc();
    const { port, inbox } = await receiver(libc);
    const send = await sender(port);
    const bytes = Buffer.from(numbers(1_000).map((i) => i & 0xff));
    send(bytes, 30);
    const got = await inbox.take(34);
    expect(Buffer.concat(got)).toEqual(bytes);
    expect(got.map(({ length }) => length)).toEqual([...new Array<number>(33).fill(30), 10]);
    expect(received).toEqual([1]);
  });

  it('are whole up to 64 KiB, and in any lengths', async () => {
    const { port, inbox } = await receiver(await loadLibc());
    const send = await sender(port);
    const cut = fc.record({
      total: fc.integer({ min: 1, max: 65_000 }),
      segmentBytes: fc.oneof(
        fc.integer({ min: 1, max: 300 }),
        fc.integer({ min: 300, max: 4_096 }),
      ),
      first: fc.nat({ max: 255 }),
    });
    await fc.assert(
      fc.asyncProperty(cut, async ({ total, segmentBytes, first }) => {
        const length = Math.min(total, 60 * segmentBytes);
        const bytes = Buffer.from(numbers(length).map((i) => (first + i * 7) & 0xff));
        send(bytes, segmentBytes);
        const got = await inbox.take(Math.ceil(bytes.length / segmentBytes));
        expect(Buffer.compare(Buffer.concat(got), bytes)).toBe(0);
        for (const each of got.slice(0, -1)) expect(each.length).toBe(segmentBytes);
        expect(inbox.length).toBe(0);
      }),
      { numRuns: 50 },
    );
  });

  it('are cut at 4,096 bytes, as single ones are', async () => {
    const { port, inbox } = await receiver(await loadLibc());
    const send = await sender(port);
    send(Buffer.concat([1, 2, 3].map((fill) => Buffer.alloc(5_000, fill))), 5_000);
    send(Buffer.alloc(5_000, 4), 5_000);
    const cut = await inbox.take(4);
    // One more is how a listener knows that it is to be refused.
    expect(cut.map(({ length }) => length)).toEqual([4_097, 4_097, 4_097, 4_097]);
    const starts = cut.map((bytes) => bytes.subarray(0, 4_096));
    expect(starts).toEqual([1, 2, 3, 4].map((fill) => Buffer.alloc(4_096, fill)));
  });

  it('come one by one where the system does not merge', async () => {
    const { libc, received } = await watchedLibc();
    const { port, inbox } = await receiver({
      ...libc,
      setsockopt: (fd, level, option, ...rest) =>
        option === linux.UDP_GRO ? -1 : libc.setsockopt(fd, level, option, ...rest),
    });
    (await sender(port))(Buffer.alloc(100, 1), 30);
    expect((await inbox.take(4)).map(({ length }) => length)).toEqual([30, 30, 30, 10]);
    expect(received).toEqual([4]);
  });
});

/** Asks 40 questions of two lengths at once, and returns the replies. */
async function askAtOnce(libc: Libc, address: string, port: number): Promise<readonly Buffer[]> {
  const engine = new BatchEngine(libc);
  const replies = new Inbox<Buffer>();
  const server = { address, port };
  const isIpv6 = address.includes(':');
  const options = { port: 0, sourceAddress: undefined, server, isIpv6 };
  const owner = {
    onDatagram: (bytes: Buffer) => replies.push(Buffer.from(bytes)),
    onUnreachable: () => undefined,
  };
  const client = opened(engine.openUpstreamPort(options, owner)!);
  engine.sendTogether(() => {
    for (const id of numbers(40)) {
      client.send(
        encodeQuery({ id, name: id % 3 === 0 ? 'longer.x' : 'web.x', type: 'A' }),
        server,
      );
    }
  });
  return await replies.take(40);
}

const ADDRESSES: readonly (readonly [string, string])[] = [
  ['127.0.0.1', '127.0.0.1'],
  ['0.0.0.0', '127.0.0.2'],
  ...(HAS_IPV6
    ? ([
        ['::', '::1'],
        [EVERY_ADDRESS, '::1'],
        [EVERY_ADDRESS, '127.0.0.3'],
      ] as const)
    : []),
];

/** Each reply has the address that belongs to its ID. */
function expectOwnAnswers(replies: readonly Buffer[]): void {
  const ids = replies.map((reply) => reply.readUInt16BE(0));
  expect([...ids].sort((a, b) => a - b)).toEqual(numbers(40));
  expect(replies.map((reply) => [...reply.subarray(-4)])).toEqual(ids.map((id) => [10, 0, 0, id]));
}

unless(NO_BATCH, describe)('between two of our own', () => {
  it.each(ADDRESSES)(
    'a listener on %s gets queries to %s in few messages, and so do its clients the answers',
    async (bound, asked) => {
      const server = await watchedLibc();
      const engine = new BatchEngine(server.libc);
      const options = { answerer: byId, address: bound, port: 0, onFailure: () => undefined };
      const { port } = opened(await listen({ ...options, engine }));
      const client = await watchedLibc();
      expectOwnAnswers(await askAtOnce(client.libc, asked, port));
      expect(server.received).toEqual([2]);
      expect(client.received).toEqual([2]);
    },
  );

  it('the misses of a batch leave from one port of loopback, with IDs of their own', async () => {
    const seen: { port: number; id: number }[] = [];
    const noting: Answerer = {
      answer: (query, out, client) => {
        seen.push({ port: client.port, id: query.id });
        return answerWith(query, out, ['10.0.0.1']);
      },
    };
    const back = { address: '127.0.0.1', port: 0, onFailure: () => undefined };
    const server = await watchedLibc();
    const backEngine = new BatchEngine(server.libc);
    const { port } = opened(await listen({ ...back, answerer: noting, engine: backEngine }));
    const front = new BatchEngine(await loadLibc());
    const sockets = opened(new UpstreamSockets({ engine: front }));
    const way = sockets.socketsFor({ server: { address: '127.0.0.1', port } });
    const forwarding: Answerer = {
      answer: (query, _out, client) => {
        const path = client.defer();
        const own = Buffer.from(query.bytes.subarray(0, query.length));
        way.send(Buffer.from(own), {
          onReply: (sent) => {
            sent.socket.forget(sent);
            const reply = replyTo(own, { addresses: [`10.0.0.${own.readUInt16BE(0)}`] });
            path.send(reply, reply.length);
          },
          onUnreachable: () => undefined,
        });
        return NO_ANSWER_YET;
      },
    };
    const listener = opened(await listen({ ...back, answerer: forwarding, engine: front }));
    const libc = await loadLibc();
    const ports = new Set<number>();
    for (let round = 0; round < 3; round++) {
      expectOwnAnswers(await askAtOnce(libc, '127.0.0.1', listener.port));
      const batch = seen.splice(0);
      expect(new Set(batch.map((each) => each.port)).size).toBe(1);
      expect(new Set(batch.map(({ id }) => id)).size).toBe(40);
      ports.add(batch[0]!.port);
    }
    expect(ports.size).toBe(3);
    expect(server.received).toEqual([2, 2, 2]);
  });
});
