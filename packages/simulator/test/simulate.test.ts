import { describe, expect, it } from '@jest/globals';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runProgram } from '@kube-dns/testkit';
import { builtBundles } from '../src/cluster/cluster.js';
import { FAULT_ROWS } from '../src/rows.js';
import { SABOTAGES, sabotaged } from '../src/sabotage.js';
import { drawScenario } from '../src/scenario.js';

const PROGRAM = fileURLToPath(new URL('../dist/main.js', import.meta.url));
interface Replay {
  readonly bug: string;
  readonly sabotage?: string;
}

/** Scenarios with what they showed; one that showed a planted fault has its name, and is right without it. */
const CORPUS = readdirSync(new URL('../corpus', import.meta.url)).map((name) => {
  const file = fileURLToPath(new URL(`../corpus/${name}`, import.meta.url));
  return { file, ...(JSON.parse(readFileSync(file, 'utf8')) as Replay) };
});
/** Virtual time needs no quiet machine, but the run itself takes real time. */
const LIMIT_MS = 220_000;

async function simulate(...args: string[]) {
  const {
    end: status,
    stdout,
    stderr,
  } = await runProgram(process.execPath, [PROGRAM, ...args], {
    limitMs: LIMIT_MS,
  });
  return { status, stdout, stderr };
}

function digests(text: string): string[] {
  return [...text.matchAll(/digest (\w+)/gu)].map(([, digest]) => digest!);
}

describe('simulated clusters', () => {
  it('keep every promise', async () => {
    const { stdout, status } = await simulate('--seed=smoke', '--seeds=2', '--minutes=2');
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
      const found = await simulate(planted, '--seed=planted', '--minutes=4', `--save=${file}`);
      expect(found.stdout).toMatch(/seed planted: WRONG {2}\(pods/u);
      expect(found.stdout).toMatch(/, answer: (?:A|AAAA|SRV) \S+ at \S+: .+; right is /u);
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

  it.each(CORPUS)(
    'replay what showed that $bug',
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

  it('keep every promise of the rows of FAULTS.md that need no kernel, and are the same alone', async () => {
    const { stdout, status } = await simulate('--row=all', '--jobs=2');
    expect(stdout).not.toContain('WRONG');
    expect(stdout.match(/: right {2}\(/gu)).toHaveLength(FAULT_ROWS.length);
    expect(status).toBe(0);
    // Beside others, after others in the same process.
    const { id } = FAULT_ROWS.at(-1)!;
    const alone = await simulate(`--row=${id}`);
    expect(digests(alone.stdout)).toEqual(digests(stdout).slice(-1));
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

  it('draw a name that is written in another way, and say when it never occurs', async () => {
    const quiet = ['--seed=a', '--minutes=1', '--faults=none', '--small'];
    const seen = await simulate(...quiet, '--trace=WWW-1.example.com.');
    expect(seen.stdout).toMatch(/node-0 ──▶ \S+ +A+ www-1\.example\.com \?/u);
    expect(seen.stdout).not.toContain('no message');
    const unseen = await simulate(...quiet, '--trace=Nothing.example.');
    expect(unseen.stdout).toContain('no message has the name nothing.example\n');
  }, 240_000);
});
