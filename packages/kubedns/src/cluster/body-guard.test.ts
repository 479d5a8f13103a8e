import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { guardBody } from './body-guard.js';

const WINDOW_MS = 20_000;

let body: { receivedBytes: number; contentBytes: number };
let errors: string[];
let guard: { close(): void };
beforeEach(() => {
  jest.useFakeTimers();
  body = { receivedBytes: 0, contentBytes: 0 };
  errors = [];
  const limits = { windowMs: WINDOW_MS, minBytes: 1_000 };
  guard = guardBody(body, limits, (error) => errors.push(error.message));
});
afterEach(() => {
  guard.close();
  jest.useRealTimers();
});

/** So many bytes arrive, and expand to so many, and a window passes. */
function window(receivedBytes: number, contentBytes = receivedBytes): void {
  body.receivedBytes += receivedBytes;
  body.contentBytes += contentBytes;
  jest.advanceTimersByTime(WINDOW_MS);
}

describe('a body', () => {
  it.each([
    ['is silent', 0, 0, 0],
    ['comes byte by byte', 999, 999, 999],
    ['comes byte by byte and expands to many', 10, 1_000_000, 10],
    ['comes and has no content', 1_000_000, 7, 7],
  ])('that %s is given up', (_what, received, content, bytes) => {
    window(5_000);
    expect(errors).toEqual([]);
    window(received, content);
    expect(errors).toEqual([`only ${bytes} bytes within 20000 ms`]);
  });

  it('that is slow but continues has no limit', () => {
    for (let i = 0; i < 1_000; i++) window(1_000);
    expect(errors).toEqual([]);
  });

  it('is not watched once its guard is closed', () => {
    guard.close();
    window(0);
    expect(errors).toEqual([]);
  });
});
