import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  endPrograms,
  needsPrograms,
  needsNamespaces,
  outputOf,
  RunningProgram,
  TemporaryFolder,
  unless,
  until,
} from '@kube-dns/testkit';
import { fixture } from './support/plans.js';
import { PROGRAM } from './support/run-command.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const SYSTEM_RESOLVER = '127.0.0.9';

/** A network and mounts of its own, with `$1` as resolv.conf, until its stdin ends. */
const HOLDER = `ip link set lo up && mount --bind "$1" /etc/resolv.conf && echo there && exec sleep 600`;

/** Why the pod cannot have a network for itself here; undefined where it can. */
function isolationSkipReason(): string | undefined {
  return needsPrograms('unshare', 'nsenter', 'ip', 'ss', 'dig', 'curl') ?? needsNamespaces();
}

unless(isolationSkipReason(), describe)('the pod of `npm start`', () => {
  const folder = new TemporaryFolder();
  let inside: readonly string[];
  let resolver: RunningProgram;

  const start = (name: string, ...words: string[]) =>
    new RunningProgram(name, 'nsenter', [...inside, ...words], { inheritsEnv: true });
  const output = (...words: string[]) => outputOf('nsenter', [...inside, ...words]);

  beforeAll(async () => {
    const resolvConf = folder.file('resolv.conf', `nameserver ${SYSTEM_RESOLVER}\n`);
    const words = ['--net', '--mount', 'sh', '-c', HOLDER, 'sh', resolvConf];
    const holder = new RunningProgram('unshare', 'unshare', words);
    await holder.waitForLine('there');
    inside = [`--target=${holder.pid}`, '--net', '--mount', `--wd=${ROOT}`];
    resolver = start('resolver', process.execPath, fixture('counting-name-server.mjs'));
    await resolver.waitForLine('there');
    const pod = start('kube-dns', process.execPath, PROGRAM, 'up');
    await pod.waitForLine(/is ready after [0-9.]+ s\. In another shell/);
  });

  afterAll(async () => {
    await endPrograms('SIGTERM');
    await folder.close();
  });

  it('listens on loopback only, on each of its ports', async () => {
    const lines = (await output('ss', '--no-header', '-lntu')).split('\n');
    const sockets = lines.map((line) => line.split(/\s+/)[4] ?? '');
    const own = sockets.filter((socket) => socket !== `${SYSTEM_RESOLVER}:53`).sort();
    // A DNS port has two UDP sockets and one of TCP.
    expect(own).toEqual(
      [10053, 10053, 10053, 10054, 10055, 10056, 1053, 1053, 1053, 18080, 8081].map(
        (port) => `127.0.0.1:${port}`,
      ),
    );
  });

  it("asks the system's resolver nothing before an outside name is asked for", async () => {
    const probes = async () => {
      const page = await output('curl', '-s', 'http://127.0.0.1:10054/metrics');
      return Number(/^kubedns_probe_dnsmasq_latency_ms_count (\d+)$/m.exec(page)?.[1]);
    };
    const before = await probes();
    const isThere = async () => (await probes()) >= before + 1;
    await until('another round of probes', isThere);
    await output('dig', '@127.0.0.1', '-p', '1053', 'web.shop.svc.cluster.local');
    expect(resolver.stdout).toBe('there\n');
    await output('dig', '@127.0.0.1', '-p', '1053', '+time=1', '+tries=1', 'www.example.com').catch(
      () => 'no answer',
    );
    await resolver.waitForLine('asked www.example.com.');
    // It has no reply, and is asked again and probed.
    expect(resolver.stdout).toMatch(/^there\nasked www\.example\.com\.\n/);
  });
});
