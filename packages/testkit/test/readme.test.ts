import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import * as testkit from '../src/index.js';

const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');

describe('README', () => {
  it('has an example with the output that its comments name', async () => {
    const { printed, expected } = await testkit.runExample(readme);
    expect(expected.length).toBeGreaterThan(0);
    expect(printed).toEqual(expected);
  });

  it('names all exports', () => {
    const words = new Set(readme.match(/\w+/g));
    // Options and errors of commands are not listed.
    const names = Object.keys(testkit).filter((name) => !/Option|Error|Text|^[A-Z_]+$/.test(name));
    expect(names.filter((name) => !words.has(name))).toEqual([]);
  });
});
