import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { StallProbe, type ProbeWindow } from './stall-probe.js';

const RCODE_SERVFAIL = 2;
const QR = 0x80;
const DEADLINE_MS = 10_000;
const STEP_MS = 5;
/** Long beside what a busy machine does to a timer. */
const STALL_MS = 400;

let server: Socket;
let probe: StallProbe;
/** What the server was asked and has not answered. */
let unanswered: (() => void)[];
let isStalled: boolean;

beforeEach(async () => {
  unanswered = [];
  isStalled = false;
  server = createSocket('udp4').bind(0, '127.0.0.1');
  server.on('message', (query, { port, address }) => {
    const reply = Buffer.from(query.subarray(0, query.length));
    reply[2] = QR;
    reply[3] = RCODE_SERVFAIL;
    const answer = () => server.send(reply, port, address);
    if (isStalled) unanswered.push(answer);
    else answer();
  });
  await once(server, 'listening');
  probe = new StallProbe();
});

afterEach(() => {
  probe.close();
  server.close();
});

/** The longest answer time that `answers` has seen. */
let longestMs = 0;

/** Looks until there are so many further answers; returns the last look. */
async function answers(count: number): Promise<ProbeWindow> {
  const endMs = performance.now() + DEADLINE_MS;
  longestMs = 0;
  for (let seen = 0; ;) {
    const window = probe.look();
    seen += window.answerMs.count;
    longestMs = Math.max(longestMs, window.answerMs.max || 0);
    if (seen >= count) return window;
    if (performance.now() > endMs) throw new Error('too late: answers');
    await delay(STEP_MS);
  }
}

describe('the probe', () => {
  it('takes any rcode for an answer', async () => {
    await probe.start(server.address().port);
    const { firstAnswerMs } = await answers(5);
    expect(firstAnswerMs).toBeGreaterThan(0);
  });

  it('sees how long a server did not answer', async () => {
    await probe.start(server.address().port);
    await answers(3);
    isStalled = true;
    await delay(STALL_MS);
    isStalled = false;
    for (const answer of unanswered.splice(0)) answer();
    await answers(3);
    expect(longestMs).toBeGreaterThan(STALL_MS / 2);
    expect(longestMs).toBeLessThan(STALL_MS * 5);
  });

  it('counts what is never answered, once later queries are', async () => {
    await probe.start(server.address().port);
    await answers(3);
    isStalled = true;
    await delay(50);
    isStalled = false;
    expect(unanswered.length).toBeGreaterThan(0);
    const endMs = performance.now() + DEADLINE_MS;
    let lost = 0;
    while (lost < unanswered.length && performance.now() < endMs) {
      await delay(STEP_MS);
      lost += probe.look().lost;
    }
    expect(lost).toBe(unanswered.length);
  });

  it('counts a stall that has not ended', async () => {
    await probe.start(server.address().port);
    await answers(3);
    isStalled = true;
    await delay(STALL_MS);
    expect(probe.look().answerMs.max).toBeGreaterThan(STALL_MS / 2);
  });

  it('does not count what was asked before the first answer', async () => {
    isStalled = true;
    await probe.start(server.address().port);
    await delay(STALL_MS);
    expect(probe.look()).toMatchObject({ answerMs: { count: 0 }, firstAnswerMs: undefined });
    unanswered = [];
    isStalled = false;
    await answers(3);
    expect(longestMs).toBeLessThan(STALL_MS / 2);
  });
});
