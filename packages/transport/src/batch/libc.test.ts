import { expect, it } from '@jest/globals';
import { EngineError } from '../errors.js';
import { loadLibc, releaseFreeMemory } from './libc.js';

it('free memory can be given back before the C library is loaded, and after it', async () => {
  releaseFreeMemory();
  await loadLibc().catch((error: unknown) => expect(error).toBeInstanceOf(EngineError));
  releaseFreeMemory();
});
