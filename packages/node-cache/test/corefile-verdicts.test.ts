import { expect, it } from '@jest/globals';
import { CorefileError } from '../src/corefile/corefile.js';
import { readServerBlocks } from '../src/corefile/read-server-blocks.js';
import { corefileWith, VERDICTS } from './support/corefile-verdicts.js';

function isTakenHere(corefile: string): boolean {
  try {
    readServerBlocks(corefile, 'Corefile');
    return true;
  } catch (error) {
    if (error instanceof CorefileError) return false;
    throw error;
  }
}

it.each(VERDICTS)('the table decides what a Corefile may say: %j is %s', (directives, verdict) => {
  expect(isTakenHere(corefileWith(directives, 53))).toBe(verdict === 'taken');
});
