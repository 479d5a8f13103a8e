import { describe, expect, it } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import { runProgram } from '@kube-dns/testkit';

const PROGRAM = fileURLToPath(new URL('../dist/main.js', import.meta.url));

describe('the simulated network', () => {
  it('has the delays that its parameters say', async () => {
    const { end, stdout } = await runProgram(process.execPath, [PROGRAM, '--calibrate=simulated']);
    expect(stdout).not.toContain('**');
    expect(end).toBe(0);
  }, 90_000);
});
