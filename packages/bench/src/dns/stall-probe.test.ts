import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { becomesTrue, encodeReply, ScriptedNameServer, until } from '@kube-dns/testkit';
import { StallProbe, type ProbeWindow } from './stall-probe.js';

const WAIT = { limitMs: 10_000, stepMs: 5 };
/** Long beside what a busy machine does to a timer. */
const STALL_MS = 400;

let server: ScriptedNameServer;
let probe: StallProbe;
/** What the server was asked and has not answered. */
let unanswered: (() => void)[];
let isStalled: boolean;

beforeEach(async () => {
  unanswered = [];
  isStalled = false;
  server = await ScriptedNameServer.start(({ query, send }) => {
    const answer = () => send(encodeReply(query, { rcode: 'SERVFAIL' }));
    if (isStalled) unanswered.push(answer);
    else answer();
    return null;
  });
  probe = new StallProbe();
});

afterEach(async () => {
  probe.close();
  await server.close();
});

/** The longest answer time that `answers` has seen. */
let longestMs = 0;

/** Waits for this many further answers; returns the last look. */
function answers(count: number): Promise<ProbeWindow> {
  let seen = 0;
  longestMs = 0;
  const find = () => {
    const window = probe.look();
    seen += window.answerMs.count;
    longestMs = Math.max(longestMs, window.answerMs.max || 0);
    return seen >= count && window;
  };
  return until('answers', find, WAIT);
}

describe('the probe', () => {
  it('takes any rcode for an answer', async () => {
    await probe.start(server.port);
    const { firstAnswerMs } = await answers(5);
    expect(firstAnswerMs).toBeGreaterThan(0);
  });

  it('sees how long a server did not answer', async () => {
    await probe.start(server.port);
    await answers(3);
    isStalled = true;
    const sinceMs = performance.now();
    await delay(STALL_MS);
    await until('a query that waits', () => unanswered.length > 0, WAIT);
    isStalled = false;
    for (const answer of unanswered.splice(0)) answer();
    await answers(3);
    expect(longestMs).toBeGreaterThan(STALL_MS / 2);
    expect(longestMs).toBeLessThan(performance.now() - sinceMs + STALL_MS);
  });

  it('counts a query that is never answered, once later ones are', async () => {
    await probe.start(server.port);
    await answers(3);
    isStalled = true;
    await until('a query that is lost', () => unanswered.length > 0, WAIT);
    isStalled = false;
    let lost = 0;
    await becomesTrue(() => (lost += probe.look().lost) >= unanswered.length, WAIT);
    expect(lost).toBe(unanswered.length);
  });

  it('counts a stall that has not ended', async () => {
    await probe.start(server.port);
    await answers(3);
    isStalled = true;
    await until('the stall', () => probe.look().answerMs.max > STALL_MS / 2, WAIT);
    expect(unanswered.length).toBeGreaterThan(0);
  });

  it('does not count what was asked before the first answer', async () => {
    isStalled = true;
    await probe.start(server.port);
    await delay(STALL_MS);
    expect(probe.look()).toMatchObject({ answerMs: { count: 0 }, firstAnswerMs: undefined });
    // What was sent so far has arrived.
    await new Promise(setImmediate);
    unanswered = [];
    isStalled = false;
    const sinceMs = performance.now();
    await answers(3);
    // What was asked before is older by the stall, which is no part of this time.
    expect(longestMs).toBeLessThan(performance.now() - sinceMs + STALL_MS / 2);
  });
});
