import { afterEach, describe, expect, it } from '@jest/globals';
import { type Closable, ownedBy, UdpClient, unless, until } from '@kube-dns/testkit';
import { BatchEngine } from '../src/batch/batch-engine.js';
import * as linux from '../src/batch/constants.js';
import { type Libc, loadLibc } from '../src/batch/libc.js';
import { CLASSES, keyOf, SourceFilter } from '../src/batch/source-filter.js';
import { attachProgram, MEMORY, receiveBuffer } from '../src/batch/source-limits.js';
import { ListenerCounters } from '../src/counters.js';
import { NO_BATCH } from './engines.js';
import { itOverIPv6 } from './ipv6.js';
import { oneAddress, question, starter } from './udp-listener.js';

const opened = ownedBy(afterEach);
const SECRETS = { first: 0x1357_9bdf, second: 0x2468_ace1 } as const;
const HEAVY = [0x7f00_0002, 0] as const;
const MANY = 200;
const AGAIN_MS = 500;

/** A socket whose filter lets next to nothing of a source pass. */
async function limitedPort(address: string, source: readonly [number, number]) {
  const libc = await loadLibc();
  const isIpv6 = address.includes(':');
  let fd = -1;
  const watched: Libc = {
    ...libc,
    bind: (...call) => {
      // Of IPv4 the last one of the port gets all, of IPv6 the first.
      if (fd < 0 || !isIpv6) [fd] = call;
      return libc.bind(...call);
    },
  };
  const socket = opened(new BatchEngine(watched).createSocket(new ListenerCounters()));
  let arrived = 0;
  await socket.open(address, 0, () => {
    arrived++;
  });
  const kernel = receiveBuffer(libc, fd, () => undefined);
  const keys = { isIpv6, ...SECRETS };
  const filter = new SourceFilter(keys);
  filter.write([keyOf(keys, ...source)], [CLASSES - 1], 1);
  expect(attachProgram(libc, fd, linux.SO_ATTACH_FILTER, filter)).toBe(true);
  const detach = () =>
    libc.setsockopt(fd, linux.SOL_SOCKET, linux.SO_DETACH_FILTER, Int32Array.of(0), 4);
  return { port: socket.port, kernel, detach, arrived: () => arrived };
}

/** How many of MANY datagrams arrive, and what the kernel has dropped meanwhile. */
async function received(
  { port, kernel, arrived }: Awaited<ReturnType<typeof limitedPort>>,
  to: string,
  from: string,
) {
  const client = opened(await UdpClient.connect(port, to, from));
  const memory = new Uint32Array(MEMORY.NUMBERS);
  expect(kernel.readMemory(memory)).toBe(true);
  const droppedBefore = memory[MEMORY.DROPPED]!;
  const arrivedBefore = arrived();
  for (let i = 0; i < MANY; i++) client.send(question());
  await until(() => {
    kernel.readMemory(memory);
    const dropped = memory[MEMORY.DROPPED]! - droppedBefore;
    return arrived() - arrivedBefore + dropped === MANY;
  });
  return arrived() - arrivedBefore;
}

describe('a filter in the kernel', () => {
  unless(NO_BATCH, it)('drops what its source sends, and nothing of others', async () => {
    const limited = await limitedPort('127.0.0.1', HEAVY);
    expect(await received(limited, '127.0.0.1', '127.0.0.3')).toBe(MANY);
    expect(await received(limited, '127.0.0.1', '127.0.0.2')).toBeLessThan(10);
    limited.detach();
    expect(await received(limited, '127.0.0.1', '127.0.0.2')).toBe(MANY);
  });

  unless(NO_BATCH, itOverIPv6)('finds the /64 of an IPv6 address', async () => {
    const other = await limitedPort('::1', [0x2001_0db8, 0]);
    expect(await received(other, '::1', '::1')).toBe(MANY);
    const own = await limitedPort('::1', [0, 0]);
    expect(await received(own, '::1', '::1')).toBeLessThan(10);
  });
});

unless(NO_BATCH, it)(
  'a port has one socket where the kernel has no choice of two, and is shared with no other',
  async () => {
    const libc = await loadLibc();
    const engine = new BatchEngine({
      ...libc,
      setsockopt: (fd, level, option, ...rest) =>
        option === linux.SO_ATTACH_REUSEPORT_CBPF
          ? -1
          : libc.setsockopt(fd, level, option, ...rest),
    });
    const socket = opened(engine.createSocket(new ListenerCounters()));
    await socket.open('127.0.0.1', 0, () => undefined);
    const other = opened(new BatchEngine(libc).createSocket(new ListenerCounters()));
    await expect(other.open('127.0.0.1', socket.port, () => undefined, true)).rejects.toThrow(
      'EADDRINUSE',
    );
  },
);

/** Room for a few datagrams. */
const BUFFER_BYTES = 8_192;

/** The C library, with small buffers for what is received. */
async function smallBuffers(): Promise<Libc> {
  const libc = await loadLibc();
  return {
    ...libc,
    setsockopt: (fd, level, option, value, length) => {
      if (level !== linux.SOL_SOCKET || length !== 4) {
        return libc.setsockopt(fd, level, option, value, length);
      }
      if (option === linux.SO_RCVBUFFORCE) return -1;
      const isBuffer = option === linux.SO_RCVBUF;
      return libc.setsockopt(fd, level, option, isBuffer ? Int32Array.of(BUFFER_BYTES) : value, 4);
    },
  };
}

/** Sends bursts, each more than a small buffer holds, in each turn of the event loop until it is closed. */
function startFlood(libc: Libc, port: number, from: string): Closable {
  const engine = new BatchEngine(libc);
  const ports = Array.from({ length: 64 }, () => {
    const options = {
      port: 0,
      sourceAddress: from,
      server: { address: '127.0.0.1', port },
      isIpv6: false,
    };
    const owner = { onDatagram: () => undefined, onUnreachable: () => undefined };
    return engine.openUpstreamPort(options, owner)!;
  });
  const query = question('flood.x');
  const burst = () => {
    for (const each of ports) each.send(query, { address: '127.0.0.1', port });
  };
  const timer = setInterval(() => engine.sendTogether(burst), 1);
  let isClosed = false;
  return {
    close: () => {
      if (isClosed) return;
      isClosed = true;
      clearInterval(timer);
      for (const each of ports) each.close();
    },
  };
}

/**
 * Asks MANY questions, each until it is answered, as a resolver does; returns how often one was asked again: on a busy machine the
 * kernel drops a few during a flood.
 */
async function askMany(client: UdpClient): Promise<number> {
  let asked = 0;
  const ask = () => {
    asked++;
    return client.ask(question(), AGAIN_MS).catch(() => undefined);
  };
  for (let i = 0; i < MANY; i++) expect(await until('an answer', ask)).toHaveLength(39);
  return asked - MANY;
}

describe('a listener that gets more than it has room for', () => {
  unless(NO_BATCH, it)('limits who asks too much until that ends, and says so', async () => {
    const libc = await smallBuffers();
    const lines: string[] = [];
    const { listener } = await starter(opened, new BatchEngine(libc))(oneAddress, {
      onOverload: (text) => void lines.push(text),
    });
    const flood = opened(startFlood(await loadLibc(), listener.port, '127.0.0.2'));
    await until(() => listener.overloads.some(({ limited }) => limited === 1));
    expect(listener.overloads[0]!.clients).toEqual([
      { client: '127.0.0.2', perSecond: expect.any(Number), passing: expect.any(Number) },
    ]);
    await until(() => listener.counters.droppedLimited > 0 && lines.length > 0);
    const modest = opened(await UdpClient.connect(listener.port, '127.0.0.1', '127.0.0.3'));
    expect(await askMany(modest)).toBeLessThan(MANY / 20);
    flood.close();
    await until(() => listener.overloads.length === 0);
    expect(listener.counters.overloads).toBeGreaterThan(0);
    expect(lines[0]).toMatch(/^more queries than can be answered: /);
    expect(lines[1]).toMatch(/^all queries are answered again, after \d+ s: \d+ were lost$/);
    const client = opened(await UdpClient.connect(listener.port, '127.0.0.1', '127.0.0.2'));
    expect(await client.ask(question())).toHaveLength(39);
  });

  unless(NO_BATCH, it)('receives a part from who is limited, and then from others', async () => {
    const libc = await smallBuffers();
    const received: { readonly fd: number; readonly most: number }[] = [];
    let isLimiting = false;
    const watched: Libc = {
      ...libc,
      recvmmsg: (fd, messages, most, ...rest) => {
        if (isLimiting) received.push({ fd, most });
        return libc.recvmmsg(fd, messages, most, ...rest);
      },
    };
    const { listener } = await starter(opened, new BatchEngine(watched))(oneAddress);
    opened(startFlood(await loadLibc(), listener.port, '127.0.0.2'));
    await until(() => listener.overloads.some(({ limited }) => limited === 1));
    isLimiting = true;
    const parts = () => received.filter(({ most }) => most === 16);
    await until('parts of who is limited', () => parts().length > 20);
    expect(new Set(parts().map(({ fd }) => fd)).size).toBe(1);
    for (const [at, { most }] of received.slice(1).entries())
      if (most === 16) expect(received[at]!.most).toBe(64);
  });

  unless(NO_BATCH, it)('gives nothing to a process that binds its port meanwhile', async () => {
    const libc = await smallBuffers();
    const { listener } = await starter(opened, new BatchEngine(libc))(oneAddress);
    const { port } = listener;
    let taken = 0;
    const bindOther = () => {
      const other = opened(new BatchEngine(libc).createSocket(new ListenerCounters()));
      return other.open('127.0.0.1', port, () => taken++, true);
    };
    await expect(bindOther()).rejects.toThrow('EADDRINUSE');
    const modest = opened(await UdpClient.connect(port, '127.0.0.1', '127.0.0.3'));
    for (let overload = 0; overload < 2; overload++) {
      const flood = opened(startFlood(await loadLibc(), port, '127.0.0.2'));
      await until(() => listener.overloads.some(({ limited }) => limited === 1));
      if (overload === 0) await bindOther();
      expect(await askMany(modest)).toBeLessThan(MANY / 20);
      flood.close();
      await until(() => listener.overloads.length === 0);
      for (let i = 0; i < MANY; i++) expect(await modest.ask(question())).toHaveLength(39);
    }
    expect(taken).toBe(0);
  });
});
