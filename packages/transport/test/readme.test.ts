import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { runExample } from '@kube-dns/testkit';

describe('README', () => {
  it('has an example that prints what it says', async () => {
    const { printed, expected } = await runExample(await readFile(new URL('../README.md', import.meta.url), 'utf8'));
    expect(expected.length).toBeGreaterThan(0);
    expect(printed).toEqual(expected);
  });
});
