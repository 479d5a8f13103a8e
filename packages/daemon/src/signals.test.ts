import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ownedBy } from '@kube-dns/testkit';
import { createLog } from './log.js';
import { SignalHandling } from './signals.js';

const LIMIT_MS = 30_000;
const NEVER = () => new Promise<void>(() => undefined);

const opened = ownedBy(afterEach);
let source: EventEmitter;
let messages: string[];
let exits: number[];
let signals: SignalHandling;
beforeEach(() => {
  jest.useFakeTimers();
  source = new EventEmitter();
  messages = [];
  exits = [];
  const write = (line: string) => messages.push(line.trim().split('] ')[1]!);
  signals = opened(
    new SignalHandling({
      source,
      log: createLog({ name: 'test', verbosity: 0, write }),
      exit: (code) => exits.push(code),
      terminateLimitMs: LIMIT_MS,
    }),
  );
});
afterEach(() => void jest.useRealTimers());

const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

describe('a signal that ends the program', () => {
  it('is followed by the end once all terminate handlers are done, also when one fails', async () => {
    let finish: (() => void) | undefined;
    signals.onTerminate((signal) => {
      messages.push(`draining after ${signal}`);
      return new Promise((resolve) => (finish = resolve));
    });
    signals.onTerminate(() => {
      throw new Error('one handler fails');
    });
    source.emit('SIGTERM');
    await pass(LIMIT_MS - 1);
    expect(exits).toEqual([]);
    finish!();
    await pass(0);
    expect(exits).toEqual([0]);
    expect(messages).toEqual([
      'SIGTERM, closing',
      'draining after SIGTERM',
      'closing: one handler fails',
    ]);
    await pass(LIMIT_MS);
    expect(messages).toHaveLength(3);
  });

  it.each([
    ['SIGTERM', LIMIT_MS],
    ['SIGINT', 1_000],
  ])('%s has the end after %s ms at the latest', async (signal, limitMs) => {
    signals.onTerminate(NEVER);
    source.emit(signal);
    await pass(limitMs - 1);
    expect(exits).toEqual([]);
    await pass(1);
    expect(exits).toEqual([0]);
    expect(messages.at(-1)).toBe(`not closed after ${limitMs} ms, ending now`);
  });

  it('is one with another that comes within a quarter of a second, as of Ctrl-C under npm', async () => {
    signals.onTerminate(NEVER);
    source.emit('SIGINT');
    await pass(249);
    source.emit('SIGTERM');
    expect(exits).toEqual([]);
    expect(messages).toEqual(['SIGINT, closing']);
  });

  it('has the end at once when it comes again later', async () => {
    signals.onTerminate(NEVER);
    source.emit('SIGTERM');
    await pass(250);
    source.emit('SIGINT');
    expect(exits).toEqual([0]);
    expect(messages.at(-1)).toBe('SIGINT again, ending immediately');
  });
});

describe('a signal that does not end the program', () => {
  it('calls its handlers, also when one fails', () => {
    const fail = () => {
      throw new Error('no');
    };
    signals.onReload(fail);
    signals.onReload(() => messages.push('reload'));
    signals.onDump(() => messages.push('dump'));
    signals.onReopenLog(() => messages.push('log'));
    signals.onReopenLog(() => messages.push('log again'));
    for (const signal of ['SIGHUP', 'SIGUSR1', 'SIGUSR2']) source.emit(signal);
    expect(messages).toEqual(['SIGHUP: no', 'reload', 'dump', 'log', 'log again']);
  });

  it('is only logged where it has no handler', () => {
    for (const signal of ['SIGHUP', 'SIGUSR1', 'SIGUSR2']) source.emit(signal);
    expect(messages).toEqual(
      ['SIGHUP', 'SIGUSR1', 'SIGUSR2'].map((signal) => `${signal}, nothing to do`),
    );
  });

  it('has no handler any more after the close', () => {
    signals.close();
    expect(source.eventNames()).toEqual([]);
  });
});
