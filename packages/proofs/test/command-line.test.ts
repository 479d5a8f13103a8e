import { expect, it } from '@jest/globals';
import { run } from './prove-process.js';

it('an unknown proof is refused with the one that was meant', async () => {
  const { end, stderr } = await run(['fzuz'], 30_000);
  expect(end).toBe(2);
  expect(stderr).toBe('prove: no command "fzuz"; did you mean fuzz?\n');
});
