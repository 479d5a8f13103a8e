import { Worker } from 'node:worker_threads';
import { afterEach, expect, it } from '@jest/globals';
import { ownedBy, TcpClient, UdpClient, unless, until } from '@kube-dns/testkit';
import { BatchEngine } from '../src/batch/batch-engine.js';
import { EPOLL_CTL_ADD, EPOLL_CTL_DEL } from '../src/batch/constants.js';
import { type EventLoop, type Libc, loadLibc } from '../src/batch/libc.js';
import { NO_BATCH } from './engines.js';
import { askNow, idOf, oneAddress, question, starters } from './tcp-listening.js';

const opened = ownedBy(afterEach);
/** Asks one question after the other from a thread with an event loop of its own. */
const ASKING = `
  const { workerData: [port, question] } = require('node:worker_threads');
  const frame = Buffer.concat([Buffer.from([0, question.length]), question]);
  const socket = require('node:net').connect({ port, host: '127.0.0.1', noDelay: true });
  socket.on('data', () => socket.write(frame));
  socket.write(frame);
`;
const ids = Array.from({ length: 100 }, (_, id) => id);

/** A listener whose engine waits by a loop that is never ready; the waits are noted. */
async function notingWaits() {
  const timeouts: number[] = [];
  const loop: EventLoop = {
    fd: -1,
    untilDueMs: () => 7,
    waitReadable: (timeoutMs) => {
      timeouts.push(timeoutMs);
      return -1;
    },
  };
  return { timeouts, ...starters(opened, new BatchEngine({ ...(await loadLibc()), loop })) };
}

const withBatch = unless(NO_BATCH, it);

withBatch('connections that ask again and again are waited for, until the next timer', async () => {
  const { timeouts, start } = await notingWaits();
  const { client } = await start(oneAddress);
  while (timeouts.length === 0) await client.ask(question());
  expect(timeouts[0]).toBe(7);
});

withBatch('connections that ask often have the loop wait with them, in one call', async () => {
  const libc = await loadLibc();
  const { fd } = libc.loop!;
  const changes: number[] = [];
  const epoll_ctl: Libc['epoll_ctl'] = (epoll, operation, of, event) => {
    if (of === fd) changes.push(operation);
    return libc.epoll_ctl(epoll, operation, of, event);
  };
  const { start } = starters(opened, new BatchEngine({ ...libc, epoll_ctl }));
  const { listener, client } = await start(oneAddress);
  const asking = new Worker(ASKING, { eval: true, workerData: [listener.port, question()] });
  opened({ close: async () => void (await asking.terminate()) });
  const udp = opened(await UdpClient.connect(listener.port));
  await until(() => changes.length >= 4);
  expect(changes.slice(0, 4)).toEqual([EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLL_CTL_ADD, EPOLL_CTL_DEL]);
  expect(idOf(await udp.ask(question(3)))).toBe(3);
  await asking.terminate();
  // The loop watches the connections alone again.
  expect(idOf(await client.ask(question(7)))).toBe(7);
  expect(changes.at(-1)).toBe(EPOLL_CTL_DEL);
});

withBatch('connections are not waited for while an answer is due: it needs the loop', async () => {
  const { timeouts, startDeferring } = await notingWaits();
  const { client, deferred, send } = await startDeferring();
  // That of the connection itself, and of an end.
  timeouts.length = 0;
  for (const id of ids) {
    client.send(question(id));
    await until(() => deferred.length === id + 1);
    expect(timeouts).toEqual([]);
    send(id);
    await client.inbox.next();
    timeouts.length = 0;
  }
});

withBatch(
  'clients over UDP, timers and new connections do not wait for those that ask',
  async () => {
    const { start } = starters(opened, new BatchEngine(await loadLibc()));
    const { listener, client } = await start(oneAddress);
    const udp = opened(await UdpClient.connect(listener.port));
    let ticks = 0;
    const timer = setInterval(() => ticks++, 1);
    opened({
      close: () => {
        clearInterval(timer);
        return Promise.resolve();
      },
    });
    for (const id of ids) {
      client.send(question(id));
      udp.send(question(id));
      expect(idOf(await client.inbox.next())).toBe(id);
      expect(idOf(await udp.inbox.next())).toBe(id);
      if (id % 10 === 0) {
        const other = opened(await TcpClient.connect(listener.port));
        expect(idOf(await other.ask(askNow(id)))).toBe(id);
      }
    }
    await until(() => ticks > 0);
  },
);
