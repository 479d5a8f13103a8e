import { jest } from '@jest/globals';
import { held } from '@kube-dns/testkit';

/** Holds `setTimeout`, but not the timeouts of sockets. */
export function holdTimeouts(): void {
  jest.useFakeTimers(held('setTimeout', 'clearTimeout'));
}

/** Holds `performance.now`. */
export function holdClock(): void {
  jest.useFakeTimers(held('performance'));
}
