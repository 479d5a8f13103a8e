import { describe, expect, it } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import { runProgram, unless } from '@kube-dns/testkit';
import { realSkipReason } from '../src/calibration/namespace-bed.js';

const PROGRAM = fileURLToPath(new URL('../dist/main.js', import.meta.url));
/** What only a hang reaches. */
const LIMIT_MS = 240_000;

unless(realSkipReason(), describe)("the simulated network and this machine's kernel", () => {
  it(
    'give the same verdicts, with delays and losses within the bounds',
    async () => {
      const { end, stdout, stderr } = await runProgram(
        process.execPath,
        [PROGRAM, '--calibrate=real'],
        { limitMs: LIMIT_MS },
      );
      expect(stdout.split('\n').filter((line) => line.includes('**'))).toEqual([]);
      expect(stderr).toBe('');
      expect(end).toBe(0);
    },
    LIMIT_MS + 10_000,
  );
});
