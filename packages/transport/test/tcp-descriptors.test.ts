import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ownedBy, unless, until } from '@kube-dns/testkit';
import { frameMessage } from '../src/frame-reader.js';
import { ENGINES } from './engines.js';
import { askNow, question, starters } from './tcp-listening.js';

const opened = ownedBy(afterEach);
const noDescriptors = process.platform === 'linux' ? undefined : 'needs /proc';
const CONNECTIONS = 10_000;
/** At a time: more than the listener takes. */
const CLIENTS = 60;
const LIMITS = { maxConnections: 50, idleTimeoutMs: 200 };

/** One descriptor is that of the folder itself. */
const openDescriptors = () => readdirSync('/proc/self/fd').length;

/** What clients do; each is cut off, or ends in its own way. */
const CLIENT_KINDS: readonly ((socket: Socket) => void)[] = [
  (socket) => socket.end(),
  (socket) => socket.resetAndDestroy(),
  // An answer, then an end, a reset, or both sides' ends at once.
  (socket) => socket.on('data', () => socket.end()).write(frameMessage(askNow(1))),
  (socket) => socket.on('data', () => socket.resetAndDestroy()).write(frameMessage(askNow(1))),
  (socket) => socket.end(frameMessage(askNow(1))),
  // A part of a message.
  (socket) => socket.end(frameMessage(askNow(1)).subarray(0, 9)),
  (socket) => socket.write(frameMessage(askNow(1)).subarray(0, 9), () => socket.destroy()),
  // An empty message, and more behind it.
  (socket) => socket.write(Buffer.concat([frameMessage(Buffer.alloc(0)), Buffer.alloc(99)])),
  // Answers that come later, to a client that waits or not.
  (socket) => socket.end(frameMessage(question(1))),
  (socket) => socket.write(frameMessage(question(1)), () => socket.resetAndDestroy()),
  (socket) => socket.write(frameMessage(question(1)), () => setImmediate(() => socket.destroy())),
  // Many queries, whose answers are not read.
  (socket) => {
    const many = Array.from({ length: 40 }, (_, id) => frameMessage(askNow(id)));
    socket.pause().write(Buffer.concat(many), () => socket.destroy());
  },
];

/** Resolves when the connection is closed on this side. */
function runClient(port: number, kind: number): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.on('error', () => undefined).on('close', () => resolve());
    socket.on('connect', () => {
      CLIENT_KINDS[kind % CLIENT_KINDS.length]!(socket);
      if (kind % CLIENT_KINDS.length !== CLIENT_KINDS.length - 1) socket.resume();
    });
  });
}

unless(noDescriptors, describe).each(ENGINES)(
  'connections over TCP with the engine %s',
  (_name, engine) => {
    const { startDeferring } = starters(opened, engine);

    it('leave no descriptor and no counter behind, however they end', async () => {
      const before = openDescriptors();
      const { listener, client, deferred, send } = await startDeferring(LIMITS);
      await client.close();
      const { counters } = listener;
      await until(() => counters.tcpOpen === 0);
      const listening = openDescriptors();
      let started = 0;
      let sent = 0;
      const runMany = async () => {
        while (started < CONNECTIONS) {
          await runClient(listener.port, started++);
          while (sent < deferred.length) send(sent++, ['10.0.0.1']);
        }
      };
      await Promise.all(Array.from({ length: CLIENTS }, runMany));
      while (sent < deferred.length) send(sent++);
      await until(() => counters.tcpOpen === 0);
      expect(counters.tcpConnections).toBeGreaterThan(CONNECTIONS / 2);
      expect(openDescriptors()).toBe(listening);
      await listener.close();
      await until(() => openDescriptors() === before);
    });
  },
);
