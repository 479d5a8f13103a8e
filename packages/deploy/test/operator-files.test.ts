import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  freePort,
  type ImageName,
  ownedBy,
  peakRssBytes,
  runProgram,
  type RunningProgram,
  startBundle,
  TemporaryFolder,
  builtProgram,
} from '@kube-dns/testkit';

const own = ownedBy(afterEach);
const ENDLESS = '/dev/zero';
const MIB = 2 ** 20;

/** A file of 3 GiB that takes no space. */
function sparseFile(): string {
  const path = own(new TemporaryFolder()).file('sparse', '');
  truncateSync(path, 3 * 2 ** 30);
  return path;
}

/** The arguments of dnsmasq, on a port of its own. */
async function dnsmasqArguments(): Promise<readonly string[]> {
  return [
    ...['-configDir=/nonexistent', '--', '--keep-in-foreground', '--no-hosts'],
    ...[`--port=${await freePort()}`, '--listen-address=127.0.0.1', '--bind-interfaces'],
  ];
}

async function kubednsArguments(): Promise<readonly string[]> {
  return [
    ...['--kube-master-url=http://127.0.0.1:9', '--dns-bind-address=127.0.0.1', '--drain-time=0s'],
    ...[`--dns-port=${await freePort()}`, `--healthz-port=${await freePort()}`],
  ];
}

async function nodeCacheArguments(corefile: string): Promise<readonly string[]> {
  const folder = own(new TemporaryFolder());
  return [
    ...['-localip=127.0.0.1', '-setupinterface=false', '-setupiptables=false', '-drain-time=0s'],
    `-basecorefile=${folder.file('Corefile.base', corefile)}`,
    `-conf=${join(folder.path, 'Corefile')}`,
    `-metrics-listen-address=127.0.0.1:${await freePort()}`,
  ];
}

/** It runs on without the file, has read little of it, and ends when it is asked to. */
async function expectToRun(name: ImageName, args: readonly string[], line: RegExp): Promise<void> {
  const program: RunningProgram = own(startBundle(name, args));
  await program.waitForLine(line);
  expect(peakRssBytes(program.pid)).toBeLessThan(512 * MIB);
  program.signal('SIGTERM');
  expect(await program.ended).toBe(0);
}

/** It ends at once, with one line that names the file and the reason. */
async function expectRefusal(
  name: ImageName,
  args: readonly string[],
  line: string,
  status: number,
): Promise<void> {
  const { end, stderr } = await runProgram(process.execPath, [builtProgram(name), ...args]);
  expect(stderr.split('\n').filter((each) => each.includes(line))).toHaveLength(1);
  expect(end).toBe(status);
}

describe.each([
  ['endless', () => ENDLESS, 'not a regular file, but a device'],
  ['of 3 GiB', sparseFile, 'larger than'],
])('finding 11: a file of the operator that is %s', (_, create, reason) => {
  it.each(['--conf-file', '--cookie-secret-file', '--notify-key', '--tls-ca'])(
    'ends the start of dnsmasq with one line where it is that of %s',
    async (option) => {
      const path = create();
      const args = [...(await dnsmasqArguments()), `${option}=${path}`];
      await expectRefusal('dnsmasq', args, `cannot read ${path}: ${reason}`, 3);
    },
  );

  it.each(['--resolv-file', '--servers-file', '--addn-hosts'])(
    'is left out by dnsmasq, with one line, where it is that of %s',
    async (option) => {
      const args = [
        ...(await dnsmasqArguments()),
        '--conf-file=/dev/null',
        `${option}=${create()}`,
        ...(option === '--resolv-file' ? [] : ['--no-resolv']),
      ];
      const shown = option === '--addn-hosts' ? reason.split(',')[0]! : reason;
      await expectToRun('dnsmasq', args, new RegExp(`(access|read|from) .*: ${shown}`));
    },
  );

  it.each(['--kubecfg-file', '--cookie-secret-file', '--notify-key', '--tls-ca'])(
    'ends the start of kubedns with one line where it is that of %s',
    async (option) => {
      const path = create();
      const args = [...(await kubednsArguments()), `${option}=${path}`];
      await expectRefusal('kubedns', args, `${path}: ${reason}`, 255);
    },
  );

  it('is left out by node-cache, with one line, where it is that of the plugin hosts', async () => {
    const corefile = `.:${await freePort()} {\n  bind 127.0.0.1\n  hosts ${create()}\n}\n`;
    const line = new RegExp(`plugin/hosts: .*: ${reason}`);
    await expectToRun('node-cache', await nodeCacheArguments(corefile), line);
  });

  it('is left out by node-cache, with one line, where its servers are in it', async () => {
    const corefile = `.:${await freePort()} {\n  bind 127.0.0.1\n  forward . ${create()}\n}\n`;
    const line = new RegExp(`failed to access .*: ${reason}`);
    await expectToRun('node-cache', await nodeCacheArguments(corefile), line);
  });
});

it('finding 11: a Corefile that imports a file of 3 GiB ends the start of node-cache with one line', async () => {
  const path = sparseFile();
  const args = await nodeCacheArguments(`import ${path}\n`);
  await expectRefusal('node-cache', args, `cannot read ${path}: larger than`, 1);
});
