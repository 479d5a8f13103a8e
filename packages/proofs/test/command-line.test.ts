import { expect, it } from '@jest/globals';
import { run, startProof } from './prove-process.js';

it('an unknown proof is refused with the one that was meant', async () => {
  const { end, stderr } = await run(['fzuz'], 30_000);
  expect(end).toBe(2);
  expect(stderr).toBe('prove: no command "fzuz"; did you mean fuzz?\n');
});

it('--help without a reader ends without a stack', async () => {
  const proof = startProof(['--help']);
  await proof.hangUp('stdout');
  expect(await proof.ended).toBe(0);
  expect(proof.stderr).toBe('');
});
