import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  Dockerfile,
  freePort,
  type ImageName,
  IMAGES,
  ownedBy,
  type RunningProgram,
  runProgram,
  startBundle,
  TemporaryFolder,
  until,
} from '@kube-dns/testkit';
import { ROOT } from './support/root.js';

const own = ownedBy(afterEach);

/** The masks of /proc/PID/status have one bit for each signal. */
const BITS = { SIGUSR1: 10n, SIGUSR2: 12n } as const;
const NO_API = 'http://127.0.0.1:9';

/** A port of its own for each, and nothing that another program needs. */
async function argumentsOf(program: ImageName): Promise<readonly string[]> {
  const port = await freePort();
  switch (program) {
    case 'kubedns':
      return [
        `--kube-master-url=${NO_API}`,
        '--dns-bind-address=127.0.0.1',
        `--dns-port=${port}`,
        `--healthz-port=${await freePort()}`,
        ...['--nameservers=127.0.0.1:9', '--drain-time=0s'],
      ];
    case 'dnsmasq':
      return [
        ...['-configDir=/nonexistent', '--', '--keep-in-foreground', `--port=${port}`],
        ...['--listen-address=127.0.0.1', '--bind-interfaces', '--conf-file=/dev/null'],
        ...['--no-hosts', '--no-resolv'],
      ];
    case 'sidecar':
      return ['--prometheus-addr=127.0.0.1', `--prometheus-port=${port}`];
    case 'node-cache': {
      const folder = own(new TemporaryFolder());
      const corefile = `.:${port} {\n  bind 127.0.0.1\n  forward . 127.0.0.1:9\n}\n`;
      return [
        ...['-localip=127.0.0.1', '-setupinterface=false', '-setupiptables=false'],
        `-basecorefile=${folder.file('Corefile.base', corefile)}`,
        `-conf=${join(folder.path, 'Corefile')}`,
        `-metrics-listen-address=127.0.0.1:${await freePort()}`,
      ];
    }
  }
}

/** Started as its image starts it. */
async function start(program: ImageName): Promise<RunningProgram> {
  const nodeFlags = new Dockerfile(program).command.slice(1, -1);
  return own(startBundle(program, await argumentsOf(program), { nodeFlags }));
}

/** Waits until the mask of a program has a signal; its start is over in some milliseconds. */
async function awaitMask(
  program: RunningProgram,
  mask: 'SigCgt' | 'SigBlk',
  signal: keyof typeof BITS,
): Promise<void> {
  const has = () => {
    program.check();
    return hasSignal(program.pid, mask, BITS[signal]);
  };
  await until(`${signal} in ${mask} of ${program.name}`, has, { stepMs: 0 });
}

function hasSignal(pid: number, mask: 'SigCgt' | 'SigBlk', bit: bigint): boolean {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const [, digits = '0'] = new RegExp(`^${mask}:\\s*([0-9a-f]+)$`, 'm').exec(status) ?? [];
  return ((BigInt(`0x${digits}`) >> (bit - 1n)) & 1n) === 1n;
}

/** What each program logs after a signal, if it does something or says that it does not. */
const LOGGED: Readonly<Record<ImageName, readonly RegExp[]>> = {
  kubedns: [/SIGUSR2, nothing to do/],
  dnsmasq: [/cleared cache/, /cache size 150/],
  sidecar: [/SIGHUP, nothing to do/, /SIGUSR2, nothing to do/],
  'node-cache': [/SIGUSR2, nothing to do/],
};

describe.each(IMAGES)('finding 9: signals of %s', (name) => {
  it('neither end it nor open the inspector of Node, from the first line of the program on', async () => {
    const program = await start(name);
    await awaitMask(program, 'SigBlk', 'SIGUSR1');
    program.signal('SIGUSR1');
    // The first line of the bundle: its modules are not yet loaded.
    await awaitMask(program, 'SigCgt', 'SIGUSR2');
    for (const signal of ['SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const) program.signal(signal);
    for (const line of LOGGED[name]) await program.waitForLine(line);
    program.signal('SIGTERM');
    expect(await program.ended).toBe(0);
    expect(program.output).not.toMatch(/Debugger|inspector/i);
  });

  it('end it with 0 when it is SIGTERM and its modules are not yet loaded', async () => {
    const program = await start(name);
    await awaitMask(program, 'SigCgt', 'SIGUSR2');
    program.signal('SIGTERM');
    expect(await program.ended).toBe(0);
  });
});

it('finding 9: the commands of all programs start Node without its SIGUSR1', async () => {
  const commands = [...IMAGES, 'apiserver', 'kube-dns'].map((name) =>
    join(ROOT, 'packages', name === 'kube-dns' ? 'cli' : name, 'bin', `${name}.cjs`),
  );
  // A Node older than the option, of which only the bundle says that it is too old.
  const folder = own(new TemporaryFolder());
  const old = folder.file('node', '#!/bin/sh\n[ "$1" = --disable-sigusr1 ] && exit 9\necho "$@"\n');
  chmodSync(old, 0o755);
  const PATH = `${folder.path}:${process.env.PATH}`;
  for (const command of commands) {
    expect(readFileSync(command, 'utf8')).toContain('; exec "$node" --disable-sigusr1 "$0" "$@"\n');
    const { end } = await runProgram(command, ['--version'], { inheritsEnv: true });
    expect(end).toBe(0);
    const { stdout } = await runProgram(command, ['a b', 'c'], {
      inheritsEnv: true,
      env: { PATH },
    });
    expect(stdout).toBe(`${command} a b c\n`);
  }
});
