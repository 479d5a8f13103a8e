import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  needsPrograms,
  needsNamespaces,
  Owned,
  type RunningProgram,
  TemporaryFolder,
  unless,
} from '@kube-dns/testkit';
import {
  childOf,
  DNS_ADDRESSES,
  GUARD,
  LOCAL_ADDRESSES,
  NodeNetwork,
} from './support/node-network.js';

const TOOLS = ['bash', 'unshare', 'nsenter', 'ip', 'iptables', 'nft', 'dig'];
const SKIP_REASON = needsPrograms(...TOOLS) ?? needsNamespaces();
const PROGRAM = fileURLToPath(new URL('../bin/node-cache.cjs', import.meta.url));
/** What the pods ask for is here, and not in the DNS of the cluster. */
const COREFILE = `.:53 {
  errors
  bind __PILLAR__LOCAL__DNS__
  hosts {
    192.0.2.1 name.example
    fallthrough
  }
  forward . 10.244.9.53
}
`;

unless(SKIP_REASON, describe)('node-cache on a node', () => {
  const shared = new Owned();
  const owned = new Owned();
  const folder = shared.add(new TemporaryFolder());
  let node: NodeNetwork;

  beforeAll(async () => {
    node = await NodeNetwork.create(shared);
  });
  afterEach(() => owned.clear());
  afterAll(() => shared.close());

  let starts = 0;
  /** As the first process of a container. */
  const start = async () => {
    const base = folder.file('Corefile.base', COREFILE);
    const conf = join(folder.path, `Corefile-${(starts += 1)}`);
    const files = ['-basecorefile', base, '-conf', conf, '-pidfile', `${conf}.pid`];
    const how = ['-localip', LOCAL_ADDRESSES.join(','), '--reuse-port', '--drain-time=0s'];
    const ports = ['-metrics-listen-address=127.0.0.1:0'];
    const container = ['unshare', '--pid', '--fork', '--kill-child'];
    const words = [
      ...container,
      'bash',
      GUARD,
      process.execPath,
      PROGRAM,
      ...how,
      ...ports,
      ...files,
    ];
    const program = owned.add(node.start('env', 'KUBE_DNS_SERVICE_HOST=10.244.9.53', ...words));
    await program.waitForLine(/Added back nodelocaldns rule|are taken over from/);
    await node.untilRules(36);
    return program;
  };
  const end = async (program: RunningProgram) => {
    process.kill(childOf(program.pid), 'SIGTERM');
    expect(await program.ended).toBe(0);
  };

  it('leads pods to itself once it answers, and to the DNS of the cluster after a kill -9', async () => {
    const program = await start();
    for (const address of DNS_ADDRESSES) await node.untilAnswer(address, 'NOERROR');
    process.kill(childOf(childOf(program.pid)), 'SIGKILL');
    expect(await program.ended).toBe(128 + 9);
    expect(program.output).toContain('took the rules out: node-cache has ended');
    for (const address of DNS_ADDRESSES) expect(await node.ask(address)).toBe('NXDOMAIN');
    await end(await start());
    expect(await node.rules()).toEqual([]);
    expect(await node.hasInterface()).toBe(false);
  });

  it('has interface and rules again after one that had taken over has ended', async () => {
    const first = await start();
    const second = await start();
    await end(second);
    await node.untilAnswer('10.96.0.10', 'NOERROR');
    await node.untilRules(36);
    await node.untilAnswer('169.254.20.10', 'NOERROR');
    await end(first);
    expect(await node.rules()).toEqual([]);
    expect(await node.hasInterface()).toBe(false);
  });
});
