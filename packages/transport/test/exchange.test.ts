import { createSocket } from 'node:dgram';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  deadServer,
  type NameServerRequest,
  ownedBy,
  type Script,
  ScriptedNameServer,
  until,
} from '@kube-dns/testkit';
import { decodeMessage, encodeQuery } from '@kube-dns/wire';
import type { ExchangeError } from '../src/errors.js';
import { exchange, type ExchangeRequest } from '../src/exchange.js';
import { frameMessage } from '../src/frame-reader.js';
import { holdTimeouts } from './held-timers.js';
import { itOverIPv6 } from './ipv6.js';
import { replyTo } from './messages.js';

const opened = ownedBy(afterEach);
afterEach(() => void jest.useRealTimers());
const query = encodeQuery({ id: 0x1234, name: 'wEb.x', type: 'A' });

/** Only a hang reaches it. */
const LIMIT_MS = 60_000;

interface Outcome {
  readonly error: ExchangeError | null;
  readonly reply: Buffer | null;
}

/** Runs one exchange to its end. */
function run(
  request: Pick<ExchangeRequest, 'server'> & Partial<ExchangeRequest>,
): Promise<Outcome> {
  const all = { query, protocol: 'udp', timeoutMs: LIMIT_MS, ...request } as const;
  return new Promise((resolve) => {
    exchange(all, (error, reply) => resolve({ error, reply }));
  });
}

const serve = async (script: Script, address = '127.0.0.1') =>
  opened(await ScriptedNameServer.start(script, { address }));

const PROTOCOLS = ['udp', 'tcp'] as const;

describe.each(PROTOCOLS)('an exchange over %s', (protocol) => {
  it('sends the query as it is and gives the reply back', async () => {
    const server = await serve(({ query: asked }) => [replyTo(asked, { addresses: ['10.0.0.1'] })]);
    const { error, reply } = await run({ server: server.at, protocol });
    expect(error).toBeNull();
    expect(decodeMessage(reply!).answers).toMatchObject([{ data: '10.0.0.1' }]);
    expect(server.requests).toMatchObject([{ protocol, query: Buffer.from(query) }]);
  });

  itOverIPv6('works over IPv6', async () => {
    const server = await serve(({ query: asked }) => [replyTo(asked)], '::1');
    expect(await run({ server: server.at, protocol })).toMatchObject({ error: null });
  });

  it('ends with a time-out when the server is silent', async () => {
    holdTimeouts();
    const server = await serve(() => undefined);
    let outcome: Outcome | undefined;
    void run({ server: server.at, protocol, timeoutMs: 80 }).then((given) => (outcome = given));
    await until(() => server.requests.length === 1);
    jest.advanceTimersByTime(79);
    await new Promise(setImmediate);
    expect(outcome).toBeUndefined();
    jest.advanceTimersByTime(1);
    await until('the end', () => outcome !== undefined);
    expect(outcome!.error).toMatchObject({
      name: 'ExchangeError',
      code: 'timeout',
      message: `127.0.0.1#${server.port} over ${protocol}: no reply within 80 ms`,
    });
  });

  it('fails when no server listens on the port, before the time-out', async () => {
    const server = await deadServer();
    const { error } = await run({ server, protocol });
    expect(error).toMatchObject({
      code: 'refused',
      message: `127.0.0.1#${server.port} over ${protocol}: connection refused`,
    });
  });

  it('ends without a word when it is canceled at once', async () => {
    holdTimeouts();
    const server = await serve(({ query: asked }) => [replyTo(asked)]);
    let calls = 0;
    const request = { query, server: server.at, protocol, timeoutMs: 50 };
    const started = exchange(request, () => calls++);
    started.cancel();
    started.cancel();
    jest.advanceTimersByTime(50);
    await run({ server: server.at, protocol });
    expect(calls).toBe(0);
  });

  it('ends without a word when it is canceled while it waits', async () => {
    const held: NameServerRequest[] = [];
    const server = await serve((request) => void held.push(request));
    let calls = 0;
    const request = { query, server: server.at, protocol, timeoutMs: LIMIT_MS };
    const started = exchange(request, () => calls++);
    await until(() => held.length === 1);
    started.cancel();
    held[0]!.send(replyTo(query));
    const other = await serve(({ query: asked }) => [replyTo(asked)]);
    await run({ server: other.at, protocol });
    expect(calls).toBe(0);
  });

  it('can be canceled between any two steps of its start', async () => {
    const server = await serve(({ query: asked }) => [replyTo(asked)]);
    for (let steps = 0; steps < 12; steps++) {
      let calls = 0;
      const request = { query, server: server.at, protocol, timeoutMs: LIMIT_MS };
      const started = exchange(request, () => calls++);
      let before = 0;
      await new Promise<void>((resolve) => {
        // Promises would run only when all ticks that Node needs to connect are over.
        const countDown = (left: number): void => {
          if (left > 0) {
            process.nextTick(countDown, left - 1);
            return;
          }
          before = calls;
          started.cancel();
          resolve();
        };
        countDown(steps);
      });
      await run({ server: server.at, protocol });
      expect(calls).toBe(before);
    }
  });

  it('calls back after it has returned', async () => {
    const server = await deadServer();
    await new Promise<void>((resolve, reject) => {
      let hasReturned = false;
      exchange({ query, server, protocol, timeoutMs: 1 }, () => {
        if (hasReturned) resolve();
        else reject(new Error('called back too soon'));
      });
      hasReturned = true;
    });
  });
});

describe('an exchange over UDP', () => {
  const changed = (edit: (reply: Buffer) => void) => {
    const reply = replyTo(query, { addresses: ['192.0.2.66'] });
    edit(reply);
    return reply;
  };

  it.each([
    ['another ID', changed((reply) => reply.writeUInt16BE(0x4321, 0))],
    ['another name', changed((reply) => reply.write('bad', 13))],
    ['another type', changed((reply) => reply.writeUInt16BE(28, 19))],
    ['no QR', changed((reply) => reply.writeUInt16BE(0x0100, 2))],
    ['five bytes', Buffer.alloc(5)],
    ['no bytes', Buffer.alloc(0)],
  ])('ignores a datagram with %s and waits on', async (_, forged) => {
    const server = await serve(({ query: asked }) => [
      forged,
      replyTo(asked, { addresses: ['10.0.0.1'] }),
    ]);
    const { reply } = await run({ server: server.at });
    expect(decodeMessage(reply!).answers).toMatchObject([{ data: '10.0.0.1' }]);
  });

  it('ignores every sender but the server that it asked', async () => {
    const held: NameServerRequest[] = [];
    const server = await serve((request) => void held.push(request));
    const outcome = run({ server: server.at });
    await until(() => held.length === 1);
    const sent = new Promise((resolve) => {
      const socket = createSocket('udp4');
      socket.send(replyTo(query), held[0]!.peer.port, held[0]!.peer.address, resolve);
      opened({ close: () => socket.close() });
    });
    await sent;
    held[0]!.send(replyTo(query, { addresses: ['10.0.0.1'] }));
    const { reply } = await outcome;
    expect(decodeMessage(reply!).answers).toMatchObject([{ data: '10.0.0.1' }]);
  });

  it('uses another port each time', async () => {
    const ports = new Set<number>();
    const server = await serve(({ query: asked, peer }) => {
      ports.add(peer.port);
      return [replyTo(asked)];
    });
    for (let i = 0; i < 8; i++) await run({ server: server.at });
    expect(ports.size).toBeGreaterThan(4);
  });

  it('says that it cannot reach an address, and the process lives', async () => {
    // The system refuses to connect a socket to the broadcast address.
    const server = { address: '255.255.255.255', port: 53 };
    expect((await run({ server })).error).toMatchObject({ code: 'unreachable' });
  });
});

describe('an exchange over TCP', () => {
  it('takes a reply in pieces', async () => {
    const server = await serve(({ query: asked, socket }) => {
      const reply = replyTo(asked, { addresses: ['10.0.0.1'] });
      const frame = frameMessage(reply, reply.length);
      const sendFrom = (at: number): void => {
        if (at < frame.length) socket!.write(frame.subarray(at, at + 1), () => sendFrom(at + 1));
      };
      sendFrom(0);
    });
    const { reply } = await run({ server: server.at, protocol: 'tcp' });
    expect(decodeMessage(reply!).answers).toHaveLength(1);
  });

  it('takes the reply of a server that closes behind it', async () => {
    const server = await serve(({ query: asked, send, socket }) => {
      send(replyTo(asked));
      socket!.end();
    });
    expect(await run({ server: server.at, protocol: 'tcp' })).toMatchObject({ error: null });
  });

  it.each<[string, Script]>([
    ['closes', ({ socket }) => void socket!.end()],
    ['closes inside its reply', ({ socket }) => void socket!.end(Buffer.from([0, 50, 1, 2, 3]))],
    ['resets the connection', ({ socket }) => void socket!.resetAndDestroy()],
  ])('fails when the server %s, before the time-out', async (_, script) => {
    const server = await serve(script);
    const { error } = await run({ server: server.at, protocol: 'tcp' });
    expect(error).toMatchObject({ code: 'closed' });
  });

  it.each([
    ['to something else', replyTo(encodeQuery({ id: 1, name: 'x', type: 'A' }))],
    ['that is empty', Buffer.alloc(0)],
  ])('fails for a reply %s, before the time-out', async (_, reply) => {
    const server = await serve(() => [reply]);
    const { error } = await run({ server: server.at, protocol: 'tcp' });
    expect(error).toMatchObject({ code: 'malformed' });
  });
});
