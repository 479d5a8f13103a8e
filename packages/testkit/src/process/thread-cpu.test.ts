import { expect, it } from '@jest/globals';
import { threadCpuMs } from './thread-cpu.js';

it('the CPU time of the thread grows while it computes', () => {
  const before = threadCpuMs();
  const endMs = performance.now() + 10_000;
  while (threadCpuMs() - before < 5) expect(performance.now()).toBeLessThan(endMs);
});
