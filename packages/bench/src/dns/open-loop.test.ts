import { createSocket, type RemoteInfo } from 'node:dgram';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { againIfStalled, Owned } from '@kube-dns/testkit';
import { RCODE } from '@kube-dns/wire';
import { encodeQuestionFile } from '../queries/question-file.js';
import { OpenLoop, type OpenLoopPlan } from './open-loop.js';

const PAUSE_MS = 100;
const LATE_MS = 1_050;
const RATE = 1_000;
const SECONDS = 0.5;
/** A fifth of the questions falls into a pause. */
const LATE_PART = PAUSE_MS / 1_000 / SECONDS;
const WORK_MS = 3;
const QR = 0x80;
/** For all questions of a test: what is overdue after a stall is sent at once. */
const RECEIVE_BYTES = 4 * 1024 * 1024;

function workFor(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

let owned: Owned;
beforeEach(() => {
  owned = new Owned();
});
afterEach(() => owned.close());

interface PausingServer {
  readonly port: number;
  /** Keeps the answers back, for PAUSE_MS unless given. */
  readonly pause: (ms?: number) => void;
  /** The clients' ports. */
  readonly clients: ReadonlySet<number>;
}

/** Sends each query back; one of `skipEvery` never, and works for WORK_MS for one of `worksEvery`. */
async function startServer({
  skipEvery = Infinity,
  worksEvery = Infinity,
  rcode = 0,
} = {}): Promise<PausingServer> {
  const socket = createSocket({ type: 'udp4', recvBufferSize: RECEIVE_BYTES });
  const clients = new Set<number>();
  let held: { bytes: Buffer; peer: RemoteInfo }[] | undefined;
  let count = 0;
  const send = (bytes: Buffer, peer: RemoteInfo) => socket.send(bytes, peer.port, peer.address);
  socket.on('message', (bytes, peer) => {
    clients.add(peer.port);
    if (++count % skipEvery === 0) return;
    if (count % worksEvery === 0) workFor(WORK_MS);
    bytes[2]! |= QR;
    bytes[3]! |= rcode;
    if (held === undefined) send(bytes, peer);
    else held.push({ bytes, peer });
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  let timer: NodeJS.Timeout | undefined;
  owned.add({
    close: () => {
      clearTimeout(timer);
      socket.close();
    },
  });
  const pause = (ms = PAUSE_MS) => {
    held = [];
    timer = setTimeout(() => {
      for (const { bytes, peer } of held!) send(bytes, peer);
      held = undefined;
    }, ms);
  };
  return { port: socket.address().port, pause, clients };
}

function planFor({ port }: PausingServer, more: Partial<OpenLoopPlan> = {}): OpenLoopPlan {
  const names = ['a.example', 'host-2.a-longer-one.example'];
  const questions = encodeQuestionFile(names.map((name) => ({ name, type: 'A' })));
  const rcodes = [RCODE.NOERROR];
  return { port, rate: RATE, seconds: SECONDS, sockets: 4, questions, rcodes, ...more };
}

/** A question counts as unanswered after a second, which the machine may stand still. */
const itInTime = (title: string, test: () => Promise<void>) =>
  it(title, () => againIfStalled(test));

describe('a load that does not wait', () => {
  itInTime('times every question that falls into a pause of the server', async () => {
    const server = await startServer();
    const running = new OpenLoop().run(planFor(server));
    await delay(150);
    server.pause();
    const { planned, answered, wrong, unanswered, answers } = await running;
    expect({ planned, answered, wrong, unanswered }).toEqual({
      ...{ planned: RATE * SECONDS, answered: RATE * SECONDS, wrong: 0, unanswered: 0 },
    });
    // The times of a fifth of them are spread from 0 to the pause: half of that fifth is above half of it.
    expect(LATE_PART).toBe(0.2);
    expect(answers.p90Ms).toBeGreaterThan(PAUSE_MS / 2 - 15);
    expect(answers.p99Ms).toBeGreaterThan(PAUSE_MS - 15);
    expect(answers.maxMs).toBeGreaterThan(PAUSE_MS - 5);
  });

  itInTime(
    'times from when they should have left those that its own pause delays, and says that',
    async () => {
      const running = new OpenLoop().run(planFor(await startServer()));
      await delay(150);
      workFor(PAUSE_MS);
      const { answered, answers, ownDelays } = await running;
      expect(answered).toBe(RATE * SECONDS);
      for (const times of [answers, ownDelays]) {
        expect(times.p90Ms).toBeGreaterThan(PAUSE_MS / 2 - 15);
        expect(times.maxMs).toBeGreaterThan(PAUSE_MS - 5);
      }
    },
  );

  itInTime(
    'counts what is not answered as the longest time, and answers with another rcode',
    async () => {
      const server = await startServer({ skipEvery: 10, rcode: RCODE.SERVFAIL });
      const { sent, answered, unanswered, wrong, answers } = await new OpenLoop().run(
        planFor(server, { rate: 400, seconds: 0.25 }),
      );
      expect({ sent, unanswered }).toEqual({ sent: 100, unanswered: 10 });
      expect(wrong).toBe(answered);
      expect(answers.p99Ms).toBe(1_000);
    },
  );

  itInTime('counts an answer after the longest time as none', async () => {
    const server = await startServer();
    server.pause(LATE_MS);
    const { sent, answered, unanswered, answers } = await new OpenLoop().run(
      planFor(server, { rate: 200, seconds: 0.02 }),
    );
    expect({ sent, answered, unanswered }).toEqual({ sent: 4, answered: 0, unanswered: 4 });
    expect([answers.p50Ms, answers.maxMs]).toEqual([1_000, 1_000]);
  });

  itInTime('asks from as many sockets as are wanted', async () => {
    const server = await startServer();
    await new OpenLoop().run(planFor(server, { seconds: 0.2, sockets: 40 }));
    expect(server.clients.size).toBe(40);
  });

  itInTime('says what part of the rate the machine could not send', async () => {
    const plan = planFor(await startServer(), { rate: 20_000_000, seconds: 0.02 });
    const { planned, sentInTimePercent } = await new OpenLoop().run(plan);
    expect(planned).toBe(400_000);
    expect(sentInTimePercent).toBeLessThan(50);
  });

  itInTime(
    'repeats a window in which the machine kept it from its core, and counts only the other',
    async () => {
      const server = await startServer();
      // As if it had had no CPU time in the first window, in which it is late by a pause of this process.
      let calls = 0;
      const load = new OpenLoop(() => (++calls <= 2 ? 0 : 1e6 * calls));
      const running = load.run(planFor(server, { seconds: 0.2, windowSeconds: 0.1 }));
      await delay(50);
      workFor(20);
      const { planned, answered, repeatedPercent, answers } = await running;
      expect({ planned, answered }).toEqual({ planned: 200, answered: 200 });
      expect(repeatedPercent).toBeCloseTo(100 / 3);
      expect(answers.count).toBe(200);
    },
  );

  itInTime(
    'counts a window that is late for its own work, or of a load that is not to be cut',
    async () => {
      // The server is in this process, which is late while that works.
      const plan = planFor(await startServer({ worksEvery: 20 }), { seconds: 0.1 });
      const busy = await new OpenLoop(() => performance.now()).run({
        ...plan,
        windowSeconds: 0.05,
      });
      expect(busy.ownDelays.maxMs).toBeGreaterThan(1);
      expect(busy.repeatedPercent).toBe(0);
      expect((await new OpenLoop(() => 0).run(plan)).repeatedPercent).toBe(0);
    },
  );

  itInTime('ends where the machine never leaves it its core', async () => {
    const plan = planFor(await startServer({ worksEvery: 20 }), { seconds: 0.1 });
    const result = await new OpenLoop(() => 0).run({ ...plan, windowSeconds: 0.05 });
    expect(result.planned).toBe(100);
    // Six windows for two.
    expect(result.repeatedPercent).toBeCloseTo((100 * 4) / 6);
  });
});
