import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ProgramResult, runProgram } from '@kube-dns/testkit';
import { ScriptedServer } from './compare/support/scripted-server.js';
import { PROGRAM } from './support/run-command.js';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kube-dns-test-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs the built program to its end in a folder of its own. */
function run(args: readonly string[], input?: string): Promise<ProgramResult> {
  const options = { cwd: folder, inheritsEnv: true, ...(input !== undefined && { input }) };
  return runProgram(process.execPath, [PROGRAM, ...args], options);
}

describe('npm start', () => {
  it('says one line about a build that is done already', async () => {
    const setup = fileURLToPath(new URL('../setup.mjs', import.meta.url));
    const { end, stdout, stderr } = await runProgram(process.execPath, [setup], {
      inheritsEnv: true,
    });
    const lines = stdout.split('\n').filter((line) => !/still at it after \d+ s$/.test(line));
    expect([end, lines, stderr]).toEqual([
      0,
      [expect.stringMatching(/^setup: build: done in \d+ s$/), ''],
      '',
    ]);
  });
});

describe('the built program', () => {
  it('prints its version', async () => {
    expect(await run(['--version'])).toEqual({
      end: 0,
      stdout: expect.stringMatching(/^kube-dns \d+\.\d+\.\d+\n$/),
      stderr: '',
    });
  });

  it('ends with the status of its command, after one line on stderr', async () => {
    expect(await run(['down'])).toEqual({
      end: 2,
      stdout: '',
      stderr: 'kube-dns: unknown command down; see kube-dns --help\n',
    });
  });

  it('reads its stdin, and files of the folder that it is started in', async () => {
    const text = '.:53 {\nkubernetes a.b\nforward . 10.0.0.1\n}\n';
    writeFileSync(join(folder, 'Corefile'), text);
    const ofFile = await run(['convert', '--to=configmap', 'Corefile']);
    expect(ofFile).toMatchObject({ end: 0, stdout: expect.stringContaining('10.0.0.1') });
    expect(await run(['convert', '--to=configmap', '-'], text)).toEqual(ofFile);
  });

  it('compares two servers and prints the whole result', async () => {
    const servers = await Promise.all(
      ['10.0.0.1', '10.0.0.2'].map((data) =>
        ScriptedServer.start(() => ({ answers: [{ type: 'A', data }] })),
      ),
    );
    const names = Array.from({ length: 300 }, (_, i) => `n${i}.test A\n`).join('');
    const [left = '', right = ''] = servers.map(({ address }) => address);
    const sides = ['--left', left, '--right', right, '--timeout', '60', '--rate', '100000'];
    const args = ['compare', ...sides, '--questions', '-', '--json'];
    const { end, stdout, stderr } = await run(args, names);
    expect([end, stderr]).toEqual([1, '']);
    const { differences } = JSON.parse(stdout) as { differences: unknown[] };
    expect(differences).toHaveLength(300);
    for (const server of servers) await server.close();
  });
});
