import { afterEach, describe, expect, it } from '@jest/globals';
import { ServerProcess } from './server-process.js';

const running: ServerProcess[] = [];

afterEach(async () => {
  for (const one of running.splice(0)) await one.close();
});

function start(code: string): ServerProcess {
  const server = new ServerProcess('thing', process.execPath, ['-e', code]);
  running.push(server);
  return server;
}

describe('a server that is measured', () => {
  it('is missed when it has ended, with its last words', async () => {
    const server = start('process.stderr.write("no such thing\\n"); process.exitCode = 3;');
    expect(await server.ended).toBe(3);
    expect(() => server.check()).toThrow('thing ended with 3: no such thing');
  });

  it('gets signals, and is told to have ended by one', async () => {
    const server = start('setInterval(() => {}, 1_000);');
    expect(server.isRunning).toBe(true);
    server.signal('SIGTERM');
    expect(await server.ended).toBe('SIGTERM');
    await server.close();
  });

  it('that cannot be started is missed, too', async () => {
    const server = new ServerProcess('thing', '/nonexistent', []);
    await server.ended;
    expect(() => server.check()).toThrow('thing spawn /nonexistent ENOENT');
  });
});
