import { expect, it } from '@jest/globals';
import { run } from './prove-process.js';

it('a proof that there is none of is refused with those that there are', async () => {
  const { end, stderr } = await run(['nothing'], 30_000);
  expect(end).toBe(2);
  expect(stderr).toContain('prove: no command "nothing"');
  expect(stderr).toContain('usage: prove COMMAND');
});
