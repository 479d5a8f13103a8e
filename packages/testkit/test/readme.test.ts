import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import * as testkit from '../src/index.js';

const readme = await readFile('README.md', 'utf8');

describe('README', () => {
  it('has an example that prints what it says', async () => {
    const { printed, said } = await testkit.runExample(readme);
    expect(said.length).toBeGreaterThan(0);
    expect(printed).toEqual(said);
  });

  it('names what there is', () => {
    const words = new Set(readme.match(/\w+/g));
    // Options and errors of commands go without saying.
    const names = Object.keys(testkit).filter((name) => !/Option|Error|Text|^[A-Z_]+$/.test(name));
    expect(names.filter((name) => !words.has(name))).toEqual([]);
  });
});
