import { expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { simulate } from './simulator-process.js';

interface Replay {
  readonly bug: string;
  readonly sabotage?: string;
}

/** Scenarios with what they showed; one that showed a planted fault has its name, and is right without it. */
const CORPUS = readdirSync(new URL('../corpus', import.meta.url)).map((name) => {
  const file = fileURLToPath(new URL(`../corpus/${name}`, import.meta.url));
  return { file, ...(JSON.parse(readFileSync(file, 'utf8')) as Replay) };
});
it.each(CORPUS)(
  'a replay of what showed that $bug is right',
  async ({ file, sabotage }) => {
    const right = await simulate(`--replay=${file}`);
    expect(right.stdout).toContain(': right  (');
    expect(right.status).toBe(0);
    if (sabotage === undefined) return;
    const planted = await simulate(`--replay=${file}`, `--sabotage=${sabotage}`);
    expect(planted.stdout).toContain(': WRONG  (');
    expect(planted.status).toBe(1);
  },
  240_000,
);
