import { describe, expect, it } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtBundles } from '../src/cluster/cluster.js';
import { SABOTAGES, sabotaged } from '../src/sabotage.js';
import { drawScenario } from '../src/scenario.js';
import { digests, simulate } from './simulator-process.js';

/** Few objects on two nodes, and many faults: .ci/run has whole clusters. */
const SMALL = ['--small', '--nodes=2', '--between=20'];

describe('simulated clusters', () => {
  it('keep every promise', async () => {
    const { stdout, status } = await simulate(...SMALL, '--minutes=2', '--seed=smoke', '--seeds=2');
    expect(stdout).toContain('seed smoke: right');
    expect(stdout).toContain('seed smoke-1: right');
    expect(status).toBe(0);
    expect(new Set(digests(stdout)).size).toBe(2);
  }, 240_000);

  it('are drawn from a seed', () => {
    expect(drawScenario('smoke')).toEqual(drawScenario('smoke'));
    expect(drawScenario('smoke')).not.toEqual(drawScenario('smoke-1'));
  });

  it('find a planted fault, make its scenario smaller, and replay it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kube-dns-simulate-'));
    try {
      const file = join(folder, 'replay.json');
      const planted = '--sabotage=an announced change drops nothing';
      const found = await simulate(
        planted,
        ...SMALL,
        '--minutes=4',
        '--seed=planted',
        `--save=${file}`,
      );
      expect(found.stdout).toMatch(/seed planted: WRONG {2}\(pods/u);
      expect(found.stdout).toMatch(
        /, answer: (?:A|AAAA|SRV) \S+ at \S+(?: over TCP)?: .+; right is /u,
      );
      expect(found.status).toBe(1);
      const scenario = JSON.parse(readFileSync(file, 'utf8')) as {
        faults: unknown[];
        nodes: number;
      };
      expect(scenario.faults).toEqual([]);
      expect(scenario.nodes).toBe(1);
      const names = [...found.stdout.matchAll(/ answer: \w+ (\S+) at /gu)];
      const name = names.at(-1)![1]!;
      const replayed = await simulate(planted, `--replay=${file}`, `--trace=${name}`);
      expect(replayed.status).toBe(1);
      expect(replayed.stdout).toMatch(/node-0 ──▶ dns-0 .* \?/u);
    } finally {
      rmSync(folder, { recursive: true });
    }
  }, 240_000);

  it('draw a name that is written in another way, and say when it never occurs', async () => {
    const seen = await simulate(
      ...SMALL,
      '--minutes=1',
      '--seed=smoke',
      '--trace=WWW-1.example.com.',
    );
    expect(seen.stdout).toContain('seed smoke: right  (');
    expect(seen.stdout).toMatch(/node-0 ──▶ \S+ +A+ www-1\.example\.com \?/u);
    expect(seen.stdout).not.toContain('no message');
    const unseen = await simulate(
      ...SMALL,
      '--minutes=1',
      '--seed=smoke',
      '--trace=Nothing.example.',
    );
    expect(unseen.stdout).toContain('no message has the name nothing.example\n');
  }, 240_000);

  it.each(SABOTAGES)('can have the planted fault: $name', (sabotage) => {
    expect(() => sabotaged(builtBundles(), sabotage)).not.toThrow();
  });

  it.each([
    ['--faults=kill,flood', 'flood is none of kill, freeze, cut'],
    ['--other=/nothing', '--other=/nothing: that is no built checkout: /nothing/packages/'],
    [
      '--sabotage=nonsense',
      'nonsense is none of\n  a change does not drop the aliases that lead to its name\n',
    ],
    ['--replay=missing.json', '--replay=missing.json: ENOENT'],
  ])('say what is wrong with %s', async (option, text) => {
    const wrong = await simulate(option, '--seeds=2');
    expect(wrong.stderr).toContain(text);
    expect(wrong.status).toBe(2);
  });
});
