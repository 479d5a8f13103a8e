import { EventEmitter } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { ManualClock } from '../../test/support/manual-clock.js';
import { onStopSignals } from './stop-signals.js';

function listen() {
  const source = new EventEmitter();
  const clock = new ManualClock();
  const calls: string[] = [];
  onStopSignals(source, clock, {
    onFirst: () => calls.push('first'),
    onAgain: () => calls.push('again'),
  });
  return { source, clock, calls };
}

describe('signals that stop the pod', () => {
  it('takes the first and then each later one', () => {
    const { source, clock, calls } = listen();
    source.emit('SIGTERM');
    clock.advance(1_000);
    source.emit('SIGINT');
    expect(calls).toEqual(['first', 'again']);
  });

  it('takes a signal that npm passes on for the same key press', () => {
    const { source, clock, calls } = listen();
    source.emit('SIGINT');
    clock.advance(5);
    source.emit('SIGINT');
    expect(calls).toEqual(['first']);
  });
});
