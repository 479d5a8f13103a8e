import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createSocket } from 'node:dgram';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import {
  addressRecords,
  ask,
  encodeQuery,
  endPrograms,
  freePort,
  RunningProgram,
  ScriptedNameServer,
  until,
} from '@kube-dns/testkit';
import { runDnsmasq, serve, type Serving } from './processes.js';
import { describeBesideReal, REAL_DNSMASQ, serveReal } from './real-dnsmasq.js';

// Without the real dnsmasq there is nothing to compare with; Debian has it in dnsmasq-base.

describeBesideReal('what goes on while it runs, beside the real dnsmasq', () => {
  let folder: string;
  let upstream: ScriptedNameServer;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'dnsmasq-running-'));
    upstream = await ScriptedNameServer.start(({ name }) =>
      name.includes('silent') ? null : { answers: addressRecords(60, '10.99.99.99') },
    );
  });

  afterEach(async () => {
    await endPrograms();
    await upstream.close();
    rmSync(folder, { recursive: true });
  });

  const askedOf = (name: string) => upstream.names.filter((each) => each === name).length;

  function serveBoth(...options: readonly string[]): Promise<[ours: Serving, real: Serving]> {
    const argv = ['--no-hosts', '-k', `--server=/x.example/${upstream.text}`, ...options];
    return Promise.all([serve(argv), serveReal(argv)]);
  }

  it('a silent server is asked again, also when no client asks, under --fast-dns-retry', async () => {
    const retry = ['--fast-dns-retry=100,2000'];
    const servings = await serveBoth('-R', '--log-facility=-', ...retry);
    const socket = createSocket('udp4');
    for (const [i, { port }] of servings.entries()) {
      const name = `silent${i}.x.example`;
      socket.send(encodeQuery({ name }), port, '127.0.0.1');
      await until(() => askedOf(name) >= 3);
    }
    socket.close();
  });

  it.each([
    [['--clear-on-reload'], 2],
    [[], 1],
  ])('the cache after a change of the resolv file is the same: %j', async (options, asked) => {
    const path = join(folder, 'resolv.conf');
    writeFileSync(path, 'nameserver 127.0.0.9\n');
    const all = ['--log-facility=-', `--resolv-file=${path}`, ...options];
    const servings = await serveBoth(...all);
    for (const [i, { port }] of servings.entries()) await ask(port, `kept${i}.x.example`);
    writeFileSync(path, 'nameserver 127.0.0.8\nnameserver 127.0.0.7\n');
    for (const [i, { port, process }] of servings.entries()) {
      await process.waitForLine('using nameserver 127.0.0.7#53');
      if (options.length > 0) {
        const isCleared = () => process.stderr.split('cleared cache').length > (i === 0 ? 1 : 2);
        await until(isCleared);
      }
      await ask(port, `kept${i}.x.example`);
      expect(askedOf(`kept${i}.x.example`)).toBe(asked);
    }
  });

  it('the log file is appended to, and opened again on SIGUSR2', async () => {
    for (const [i, start] of [serveOurs, serveRealWithLog].entries()) {
      const path = join(folder, `log${i}`);
      writeFileSync(path, 'before\n');
      const process = await start(path);
      expect(readFileSync(path, 'utf8')).toMatch(/^before\n.*started, /s);
      renameSync(path, `${path}.1`);
      process.signal('SIGUSR2');
      await until(() => existsSync(path));
      process.signal('SIGHUP');
      await until(() => readFileSync(path, 'utf8').includes('cleared cache'));
      process.signal('SIGTERM');
      expect(await process.ended).toBe(0);
      expect(readFileSync(path, 'utf8')).toMatch(/SIGTERM/);
      expect(process.stderr).toBe('');
    }
  });

  const LINE = ['--no-hosts', '-k', '-R', '--listen-address=127.0.0.1'];

  async function serveOurs(path: string): Promise<RunningProgram> {
    const process = runDnsmasq('--', ...LINE, '--port=0', `--log-facility=${path}`);
    await until(() => readFileSync(path, 'utf8').includes('serving on port'));
    return process;
  }

  async function serveRealWithLog(path: string): Promise<RunningProgram> {
    const alone = ['-C', '/dev/null', '-u', 'root', '-x', '', '--bind-interfaces'];
    const process = new RunningProgram('the real dnsmasq', REAL_DNSMASQ!, [
      ...LINE,
      ...alone,
      `--port=${await freePort()}`,
      `--log-facility=${path}`,
    ]);
    await until(() => readFileSync(path, 'utf8').includes('started, version'));
    return process;
  }

  it.each(['/nonexistent/log', '/tmp'])(
    'a log file that cannot be opened ends both with the same words: %s',
    async (path) => {
      const line = [...LINE, '--port=0', `--log-facility=${path}`];
      const ours = runDnsmasq('--', ...line);
      const real = new RunningProgram('the real dnsmasq', REAL_DNSMASQ!, [
        '-C',
        '/dev/null',
        '-x',
        '',
        ...line,
      ]);
      expect(await Promise.all([ours.ended, real.ended])).toEqual([3, 3]);
      expect(ours.stderr.trim()).toBe(real.stderr.trim());
    },
  );
});
