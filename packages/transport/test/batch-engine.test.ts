import { afterEach, describe, expect, it } from '@jest/globals';
import {
  deadServer,
  Inbox,
  ownedBy,
  ScriptedNameServer,
  UdpClient,
  unless,
  until,
} from '@kube-dns/testkit';
import { decodeMessage, encodeQuery, EVERY_ADDRESS } from '@kube-dns/wire';
import { BatchEngine } from '../src/batch/batch-engine.js';
import { EAGAIN, ECONNREFUSED } from '../src/batch/constants.js';
import { type Libc, loadLibc } from '../src/batch/libc.js';
import { Outbox } from '../src/batch/outbox.js';
import { type Answerer, NO_ANSWER_YET, type ReplyPath } from '../src/answerer.js';
import { listen } from '../src/listener.js';
import { UpstreamSockets } from '../src/forward/sockets.js';
import { NO_BATCH } from './engines.js';
import { HAS_IPV6, itOverIPv6 } from './ipv6.js';
import { answerWith, manyAddresses, replyTo, withOpt } from './messages.js';

const EPERM = 1;
const opened = ownedBy(afterEach);
const question = (id: number, name = 'web.x') => encodeQuery({ id, name, type: 'A' });
const byId: Answerer = {
  answer: (query, out) => answerWith(query, out, [`10.0.${query.id >> 8}.${query.id & 0xff}`]),
};

/** The C library with some functions of the test's own. */
async function libcWith(own: Partial<Libc>): Promise<Libc> {
  return { ...(await loadLibc()), ...own };
}

async function serve(libc: Libc, answerer = byId, address = '127.0.0.1') {
  const engine = new BatchEngine(libc);
  const options = { answerer, address, port: 0, onFailure: () => undefined, engine };
  return opened(await listen(options));
}

const idsOf = (replies: readonly Buffer[]) =>
  replies.map((reply) => decodeMessage(reply).id).sort((a, b) => a - b);
const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);

unless(NO_BATCH, it).each([0, -1, 65_537, Number.NaN])(
  'an outbox does not send a message of %d bytes, which its room does not hold',
  async (length) => {
    let sends = 0;
    const outbox = new Outbox(await libcWith({ sendmmsg: () => ++sends }));
    const socket = {
      fd: -1,
      mustWait: () => false,
      mayRepeat: () => false,
      hold: () => undefined,
      noteSent: () => undefined,
      countUnsent: () => undefined,
    };
    expect(() => outbox.commit(socket, length, undefined)).toThrow(RangeError);
    outbox.flush();
    expect(sends).toBe(0);
    outbox.commit(socket, 65_536, undefined);
    expect(sends).toBe(1);
  },
);

/** Sends fails with an error as long as `errno` is not 0. */
class FailingSends {
  errno = 0;
  calls = 0;
  readonly #libc: Libc;

  constructor(libc: Libc) {
    this.#libc = libc;
  }

  libc(): Promise<Libc> {
    return libcWith({
      sendmmsg: (...call) => {
        this.calls++;
        return this.errno === 0 ? this.#libc.sendmmsg(...call) : -1;
      },
      errno: () => (this.errno === 0 ? this.#libc.errno() : this.errno),
    });
  }
}

unless(NO_BATCH, describe)('the batch engine', () => {
  it.each(['127.0.0.1', '127.0.0.2', '127.1.2.3'])(
    'answers from %s, when that was asked of a listener on all addresses',
    async (address) => {
      const listener = await serve(await loadLibc(), byId, '0.0.0.0');
      // A connected client takes answers from the address that it asked only.
      const client = opened(await UdpClient.connect(listener.port, address));
      for (const id of numbers(50)) client.send(question(id));
      expect(idsOf(await client.inbox.take(50))).toEqual(numbers(50));
    },
  );

  itOverIPv6('answers both families from the address that was asked', async () => {
    const listener = await serve(await loadLibc(), byId, EVERY_ADDRESS);
    for (const address of ['::1', '127.0.0.3']) {
      const client = opened(await UdpClient.connect(listener.port, address));
      for (const id of numbers(20)) client.send(question(id));
      expect(idsOf(await client.inbox.take(20))).toEqual(numbers(20));
    }
  });

  it('answers later from the address that was asked', async () => {
    const waiting: { reply: ReplyPath; message: Buffer }[] = [];
    const deferring: Answerer = {
      answer: (query, _out, client) => {
        const message = replyTo(query.bytes.subarray(0, query.length));
        waiting.push({ reply: client.defer(), message });
        return NO_ANSWER_YET;
      },
    };
    const listener = await serve(await loadLibc(), deferring, '0.0.0.0');
    const client = opened(await UdpClient.connect(listener.port, '127.0.0.9'));
    for (const id of numbers(3)) client.send(question(id));
    await until(() => waiting.length === 3);
    expect(waiting[0]!.reply.address).toBe('127.0.0.1');
    for (const { reply, message } of waiting) reply.send(message, message.length);
    expect(idsOf(await client.inbox.take(3))).toEqual(numbers(3));
  });

  it('sends answers of any size in one batch, each whole', async () => {
    const sized: Answerer = {
      answer: (query, out) => answerWith(query, out, manyAddresses((query.id % 3) * 700)),
    };
    const engine = new BatchEngine(await loadLibc());
    const options = { answerer: sized, address: '127.0.0.1', port: 0, onFailure: () => undefined };
    const listener = opened(await listen({ ...options, engine, maxUdpBytes: 65_000 }));
    const client = opened(await UdpClient.connect(listener.port));
    // As much as the client's receive buffer takes.
    for (const id of numbers(6)) client.send(withOpt(question(id), 65_000));
    for (const reply of (await client.inbox.take(6)).map(decodeMessage)) {
      expect(reply.answers).toHaveLength((reply.id % 3) * 700);
    }
  });

  it('sends the rest of a batch of which the system took a part', async () => {
    const libc = await loadLibc();
    const oneByOne = await libcWith({
      sendmmsg: (fd, headers, _count, flags) => libc.sendmmsg(fd, headers, 1, flags),
    });
    const listener = await serve(oneByOne);
    const client = opened(await UdpClient.connect(listener.port));
    for (const id of numbers(200)) client.send(question(id));
    expect(idsOf(await client.inbox.take(200))).toEqual(numbers(200));
    expect(listener.counters.sendErrors).toBe(0);
  });

  it('holds what the system does not take now, and sends it when it does', async () => {
    const sends = new FailingSends(await loadLibc());
    const listener = await serve(await sends.libc());
    const client = opened(await UdpClient.connect(listener.port));
    sends.errno = EAGAIN;
    for (const id of numbers(30)) client.send(question(id));
    await until(() => listener.counters.answers === 30);
    sends.errno = 0;
    expect(idsOf(await client.inbox.take(30))).toEqual(numbers(30));
    expect(listener.counters.sendErrors).toBe(0);
  });

  it('holds no more than a number of answers, and counts those that it drops', async () => {
    const sends = new FailingSends(await loadLibc());
    const listener = await serve(await sends.libc());
    const client = opened(await UdpClient.connect(listener.port));
    sends.errno = EAGAIN;
    for (let sent = 0; sent < 400; sent += 50) {
      for (let id = sent; id < sent + 50; id++) client.send(question(id));
      await until(() => listener.counters.answers === sent + 50);
    }
    sends.errno = 0;
    await client.inbox.take(256);
    expect(listener.counters.sendErrors).toBe(400 - 256);
  });

  it('drops and counts an answer that the system refuses, and sends the others', async () => {
    const libc = await loadLibc();
    let refusals = 0;
    let hasFailed = false;
    const refusing = await libcWith({
      sendmmsg: (fd, headers, count, flags) => {
        hasFailed = refusals++ === 0;
        return hasFailed ? -1 : libc.sendmmsg(fd, headers, count, flags);
      },
      errno: () => (hasFailed ? EPERM : libc.errno()),
    });
    const listener = await serve(refusing);
    const client = opened(await UdpClient.connect(listener.port));
    client.send(question(1));
    await until(() => listener.counters.sendErrors === 1);
    expect(idsOf([await client.ask(question(2))])).toEqual([2]);
  });

  it('fetches a reply that is larger than its memory over TCP: it looks cut', async () => {
    const large = manyAddresses(300);
    const server = opened(
      await ScriptedNameServer.start(({ query }) => [replyTo(query, { addresses: large })]),
    );
    const replies = new Inbox<Buffer>();
    const engine = new BatchEngine(await loadLibc());
    const sockets = opened(new UpstreamSockets({ engine }));
    sockets.socketsFor({ server: server.at }).send(Buffer.from(question(0)), {
      onReply: (_sent, reply) => replies.push(reply),
      onUnreachable: () => undefined,
    });
    const reply = await replies.next();
    expect(reply.length).toBe(4_096);
    expect(reply[2]! & 0x02).toBe(0x02);
  });

  const toIpv4 = [0, 10, 5];
  const toIpv6 = [41, 23, 5];
  const unlessIpv6 = HAS_IPV6 ? ['::1'] : [];
  it.each(['127.0.0.1', ...unlessIpv6])(
    'attack 9: a forged path MTU has no effect on its sockets to the server %s',
    async (address) => {
      const libc = await loadLibc();
      const options: number[][] = [];
      const watched = await libcWith({
        setsockopt: (fd, level, option, value, length) => {
          const result = libc.setsockopt(fd, level, option, value, length);
          // What the system takes.
          if (result === 0) options.push([level, option, value[0]!]);
          return result;
        },
      });
      const { port } = await deadServer();
      const sockets = opened(new UpstreamSockets({ engine: new BatchEngine(watched) }));
      const handler = { onReply: () => undefined, onUnreachable: () => undefined };
      sockets.socketsFor({ server: { address, port } }).send(Buffer.from(question(0)), handler);
      expect(options).toContainEqual(address === '::1' ? toIpv6 : toIpv4);
    },
  );

  it('sends a query once more when the error was that of an earlier one', async () => {
    const libc = await loadLibc();
    let calls = 0;
    let isRefused = false;
    const stale = await libcWith({
      sendmmsg: (fd, headers, count, flags) => {
        isRefused = calls++ === 0;
        return isRefused ? -1 : libc.sendmmsg(fd, headers, count, flags);
      },
      errno: () => (isRefused ? ECONNREFUSED : libc.errno()),
    });
    const server = opened(await ScriptedNameServer.start(({ query }) => [replyTo(query)]));
    const events = new Inbox<string>();
    const sockets = opened(new UpstreamSockets({ engine: new BatchEngine(stale) }));
    sockets.socketsFor({ server: server.at }).send(Buffer.from(question(0)), {
      onReply: () => events.push('reply'),
      onUnreachable: () => events.push('unreachable'),
    });
    expect((await events.take(2)).sort()).toEqual(['reply', 'unreachable']);
  });

  it('goes on with a socket whose server was away', async () => {
    const gone = await deadServer();
    const events = new Inbox<string>();
    const engine = new BatchEngine(await loadLibc());
    const sockets = opened(new UpstreamSockets({ engine }));
    const handler = {
      onReply: () => events.push('reply'),
      onUnreachable: () => events.push('unreachable'),
    };
    const sent = sockets.socketsFor({ server: gone }).send(Buffer.from(question(0)), handler)!;
    expect(await events.next()).toBe('unreachable');
    sent.socket.resend(sent);
    expect(await events.next()).toBe('unreachable');
  });

  it('gives a listener that is closed in the middle of a batch no more of it', async () => {
    let answered = 0;
    const closing: Answerer = {
      answer: (query, out) => {
        answered++;
        void listener.close();
        return answerWith(query, out, []);
      },
    };
    const listener = await serve(await loadLibc(), closing);
    const client = opened(await UdpClient.connect(listener.port));
    for (const id of numbers(20)) client.send(question(id));
    await until(() => answered > 0);
    await new Promise((resolve) => setImmediate(resolve));
    expect(answered).toBe(1);
  });
});
