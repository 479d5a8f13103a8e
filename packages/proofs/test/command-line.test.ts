import { expect, it } from '@jest/globals';
import { run } from './prove-process.js';

it('an unknown proof is refused with the list of proofs', async () => {
  const { end, stderr } = await run(['nothing'], 30_000);
  expect(end).toBe(2);
  expect(stderr).toContain('prove: no command "nothing"');
  expect(stderr).toContain('usage: prove COMMAND');
});
