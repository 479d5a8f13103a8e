import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';

const PROGRAM = fileURLToPath(new URL('../dist/main.js', import.meta.url));

it('a proof that there is none of is refused with those that there are', async () => {
  const { code, stderr } = await new Promise<{ code: unknown; stderr: string }>((resolve) => {
    execFile(process.execPath, [PROGRAM, 'nothing'], (error, _, text) => {
      resolve({ code: error?.code, stderr: text });
    });
  });
  expect(code).toBe(2);
  expect(stderr).toContain('prove: no command "nothing"');
  expect(stderr).toContain('usage: prove COMMAND');
});
