import { afterEach, describe, expect, it } from '@jest/globals';
import { endPrograms, RunningProgram, runProgram } from './running-program.js';

afterEach(() => endPrograms());

function start(code: string): RunningProgram {
  return new RunningProgram('thing', process.execPath, ['-e', code]);
}

describe('a running program', () => {
  it('fails the check when it has ended, with its last lines', async () => {
    const server = start('process.stderr.write("no such thing\\n"); process.exitCode = 3;');
    expect(await server.ended).toBe(3);
    expect(() => server.check()).toThrow('thing ended with 3: no such thing');
  });

  it('receives signals, and reports the one that ended it', async () => {
    const server = start('setInterval(() => {}, 1_000);');
    expect(server.isRunning).toBe(true);
    server.signal('SIGTERM');
    expect(await server.ended).toBe('SIGTERM');
    await server.close();
  });

  it('that cannot be started fails the check', async () => {
    const server = new RunningProgram('thing', '/nonexistent');
    await server.ended;
    expect(() => server.check()).toThrow('thing spawn /nonexistent ENOENT');
  });

  it('is waited for until its output matches, on either stream', async () => {
    const server = start(
      'console.error("a+b"); console.log("port 53"); setInterval(() => {}, 1e3);',
    );
    expect((await server.waitForLine(/port (\d+)/))[1]).toBe('53');
    await server.waitForLine('a+b');
    expect([server.stdout, server.stderr]).toEqual(['port 53\n', 'a+b\n']);
  });

  it('is not waited for when it ends without that output', async () => {
    const server = start('console.log("bye")');
    await expect(server.waitForLine(/hello/)).rejects.toThrow('thing ended with 0: bye');
    await server.waitForLine(/bye/);
  });

  it('has no variables of this process unless it inherits them', async () => {
    process.env.OF_THE_TEST = 'yes';
    const print = ['-e', 'console.log(process.env.OF_THE_TEST, process.env.GIVEN)'];
    const env = { GIVEN: 'too' };
    expect((await runProgram(process.execPath, print, { env })).stdout).toBe('undefined too\n');
    const options = { env, inheritsEnv: true };
    expect((await runProgram(process.execPath, print, options)).stdout).toBe('yes too\n');
  });

  it('reads its input, and reports how it ended', async () => {
    const code =
      'process.stdin.on("data", (text) => console.error(`${text}!`)); process.exitCode = 4;';
    const result = await runProgram(process.execPath, ['-e', code], { input: 'word' });
    expect(result).toEqual({ end: 4, stdout: '', stderr: 'word!\n' });
  });

  it('gets EPIPE when its stream is not read any more', async () => {
    const code = 'process.stderr.on("error", ({ code }) => console.log(code));';
    const program = start(
      `${code} process.on("SIGUSR2", () => console.error("x")); setInterval(() => {}, 1e3); console.log("up");`,
    );
    await program.waitForLine(/up/);
    await program.hangUp('stderr');
    program.signal('SIGUSR2');
    await program.waitForLine(/EPIPE/);
  });

  it('is ended when it takes too long', async () => {
    const code = 'setInterval(() => {}, 1_000)';
    const { end } = await runProgram(process.execPath, ['-e', code], { limitMs: 50 });
    expect(end).toBe('SIGINT');
  });
});
