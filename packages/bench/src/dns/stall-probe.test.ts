import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { encodeReply, monotonicMs, ScriptedNameServer, until } from '@kube-dns/testkit';
import { StallProbe, type ProbeWindow } from './stall-probe.js';

/** Longer than any machine takes for a test. */
const STALL_MS = 3_600_000;
/** After which a query is lost when a later one was answered. */
const OVERTAKEN_MS = 500;

let server: ScriptedNameServer;
let probe: StallProbe;
/** What the server was asked and has not answered. */
let unanswered: (() => void)[];
let isStalled: boolean;
/** How far the clock of the probe is ahead: a stall takes no time here. */
let aheadMs: number;

beforeEach(async () => {
  unanswered = [];
  isStalled = false;
  aheadMs = 0;
  server = await ScriptedNameServer.start(({ query, send }) => {
    const answer = () => send(encodeReply(query, { rcode: 'SERVFAIL' }));
    if (isStalled) unanswered.push(answer);
    else answer();
    return null;
  });
  probe = new StallProbe(() => monotonicMs() + aheadMs);
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
  return until('answers', find);
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
    await until('a query that waits', () => unanswered.length > 0);
    aheadMs += STALL_MS;
    isStalled = false;
    for (const answer of unanswered.splice(0)) answer();
    await answers(3);
    expect(longestMs).toBeGreaterThanOrEqual(STALL_MS);
    expect(longestMs).toBeLessThan(2 * STALL_MS);
  });

  it('counts a query that is never answered, once later ones are', async () => {
    await probe.start(server.port);
    await answers(3);
    isStalled = true;
    await until('a query that is lost', () => unanswered.length > 0);
    isStalled = false;
    aheadMs += 2 * OVERTAKEN_MS;
    let lost = 0;
    await until('all that are lost', () => (lost += probe.look().lost) >= unanswered.length);
    expect(lost).toBe(unanswered.length);
  });

  it('counts a stall that has not ended', async () => {
    await probe.start(server.port);
    await answers(3);
    isStalled = true;
    await until('a query that waits', () => unanswered.length > 0);
    aheadMs += STALL_MS;
    expect(probe.look().answerMs.max).toBeGreaterThanOrEqual(STALL_MS);
  });

  it('does not count what was asked before the first answer', async () => {
    isStalled = true;
    await probe.start(server.port);
    await until('a query that waits', () => unanswered.length > 0);
    aheadMs += STALL_MS;
    expect(probe.look()).toMatchObject({ answerMs: { count: 0 }, firstAnswerMs: undefined });
    // What was sent so far has arrived.
    await new Promise(setImmediate);
    unanswered = [];
    isStalled = false;
    await answers(3);
    expect(longestMs).toBeLessThan(STALL_MS);
  });
});
