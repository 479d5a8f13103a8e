import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RunningProgram } from '@kube-dns/testkit';

const execute = promisify(execFile);
const PACKAGE = fileURLToPath(new URL('..', import.meta.url));

let folder: string;
let program: string;

const SAMPLE = `
const answer: number = 42;
if (process.argv[2] !== 'endless') console.log(answer);
else setInterval(() => console.log('endless'), 100);
`;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kube-dns-bundle-'));
  const entry = join(folder, 'sample.ts');
  writeFileSync(entry, SAMPLE);
  program = join(folder, 'sample.cjs');
  await execute(process.execPath, [join(PACKAGE, 'bundle.mjs'), entry, program], { cwd: PACKAGE });
});

afterAll(() => rmSync(folder, { recursive: true }));

/** Runs the bundle on a Node that reports another version. */
async function runOn(version: string): Promise<{ status: number; stdout: string; stderr: string }> {
  const preload = join(folder, 'preload.cjs');
  writeFileSync(
    preload,
    `Object.defineProperty(process, 'versions', { value: { node: '${version}' } });
     Object.defineProperty(process, 'version', { value: 'v${version}' });`,
  );
  const run = execute(process.execPath, ['--require', preload, program]);
  const { stdout, stderr } = await run.catch((error: unknown) => error as Awaited<typeof run>);
  return { status: run.child.exitCode ?? -1, stdout, stderr };
}

describe('a bundled program', () => {
  it.each(['20.20.2', '22.18.0'])('prints one line when Node %s is too old', async (version) => {
    const { status, stdout, stderr } = await runOn(version);
    expect(status).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toBe(`sample: needs Node 22.19 or newer, this is v${version}\n`);
  });

  it.each(['22.19.0', '24.0.0'])('runs on Node %s', async (version) => {
    expect(await runOn(version)).toEqual({ status: 0, stdout: '42\n', stderr: '' });
  });

  it('ends with the shell in which npx runs it', async () => {
    const env = { npm_command: 'exec' };
    const shell = new RunningProgram('sh', 'sh', ['-c', `"${program}" endless; true`], { env });
    await shell.waitForLine('endless');
    shell.signal('SIGKILL');
    // Also that of the program, which writes to the same pipe.
    await shell.ended;
  });

  it('can be started as a command', async () => {
    const { stdout } = await execute(program, []);
    expect(stdout).toBe('42\n');
  });
});
