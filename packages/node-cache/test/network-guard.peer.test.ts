import { readdirSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  isAlive,
  needsPrograms,
  needsNamespaces,
  Owned,
  type RunningProgram,
  TemporaryFolder,
  unless,
  untilEqual,
} from '@kube-dns/testkit';
import { childOf, DNS_ADDRESSES, GUARD, NodeNetwork } from './support/node-network.js';

const TOOLS = ['bash', 'unshare', 'nsenter', 'ip', 'iptables', 'nft', 'dig'];
const SKIP_REASON = needsPrograms(...TOOLS) ?? needsNamespaces();
const ALL = 36;
/** Why the rules are out. */
const ENDED = 'took the rules out: node-cache has ended';
const SILENT = 'took the rules out: node-cache has not answered its own probe for 2 s';

/** '' for a descriptor that is closed meanwhile. */
function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

unless(SKIP_REASON, describe)('the guard', () => {
  const shared = new Owned();
  const owned = new Owned();
  const folder = shared.add(new TemporaryFolder());
  let node: NodeNetwork;

  beforeAll(async () => {
    node = await NodeNetwork.create(shared);
  });
  afterEach(() => owned.clear());
  afterAll(() => shared.close());

  const kill = (pid: number, signal: NodeJS.Signals = 'SIGKILL') => process.kill(pid, signal);

  /** After a test that leaves the interface. */
  const tidy = () => node.run('ip', 'link', 'delete', 'nodelocaldns');

  /** A start takes over what was left, and its end takes it away. */
  const startAndEnd = async () => {
    const cache = owned.add(await node.startCache());
    cache.signal('SIGTERM');
    await cache.ended;
    expect(await node.rules()).toEqual([]);
    expect(await node.hasInterface()).toBe(false);
  };

  it.each(['nft', 'iptables'])(
    'takes the rules by %s out at a kill -9, and pods reach the DNS of the cluster',
    async (setup) => {
      const cache = owned.add(await node.startCache({ setup }));
      for (const address of DNS_ADDRESSES) await node.untilAnswer(address, 'REFUSED');
      cache.signal('SIGKILL');
      await cache.waitForLine(ENDED);
      expect(await node.rules()).toEqual([]);
      for (const address of DNS_ADDRESSES) expect(await node.ask(address)).toBe('NXDOMAIN');
      expect(await node.hasInterface()).toBe(true);
      await startAndEnd();
    },
  );

  it('takes out what is left of the rules by iptables', async () => {
    const cache = owned.add(await node.startCache({ setup: 'iptables' }));
    await node.run('iptables', '-t', 'raw', '-D', 'PREROUTING', '1');
    await node.run('ip6tables', '-F', 'OUTPUT');
    cache.signal('SIGKILL');
    await node.untilRules(0);
    await tidy();
  });

  it('takes the rules out while node-cache is stopped, which puts them back when it goes on', async () => {
    const cache = owned.add(await node.startCache());
    cache.signal('SIGSTOP');
    await cache.waitForLine(SILENT);
    expect(await node.rules()).toEqual([]);
    expect(await node.ask('10.96.0.10')).toBe('NXDOMAIN');
    cache.signal('SIGCONT');
    await node.untilRules(ALL);
    await node.untilAnswer('10.96.0.10', 'REFUSED');
    cache.signal('SIGTERM');
    await cache.ended;
    expect(await node.rules()).toEqual([]);
  });

  it('ends with node-cache, and does nothing after an orderly end or with --skipteardown', async () => {
    const cache = owned.add(await node.startCache());
    const guard = childOf(cache.pid);
    expect(isAlive(guard)).toBe(true);
    cache.signal('SIGTERM');
    // Also that of the guard, which writes to the same stderr.
    await cache.ended;
    expect(cache.output).not.toContain(ENDED);
    const other = owned.add(await node.startCache({ skipsTeardown: true }));
    other.signal('SIGTERM');
    await other.ended;
    expect(await node.rules()).toHaveLength(ALL);
    await startAndEnd();
  });

  it('as the first process of a container passes SIGTERM on, and ends as node-cache ends', async () => {
    const unshare = ['unshare', '--pid', '--fork', '--kill-child'];
    const container = owned.add(await node.startCache({}, [...unshare, 'bash', GUARD]));
    kill(childOf(container.pid), 'SIGTERM');
    expect(await container.ended).toBe(7);
    expect(container.output).toContain('rules are out');
    expect(container.output).not.toContain(ENDED);
    expect(await node.rules()).toEqual([]);
    expect(await node.hasInterface()).toBe(false);
  });

  describe('in a container of its own', () => {
    const pipe = join(folder.path, 'guard');
    let guard: RunningProgram;

    /** The pipe is opened with the first beat at the latest. */
    const untilPiped = ({ pid }: RunningProgram) =>
      untilEqual(true, () => {
        const fds = readdirSync(`/proc/${pid}/fd`);
        return fds.some((fd) => readLink(`/proc/${pid}/fd/${fd}`) === pipe);
      });

    beforeAll(() => {
      guard = shared.add(node.start('bash', GUARD, '--watch', pipe));
    });

    it('has a pipe that its own user alone can use', async () => {
      await untilEqual(0o600, () => (statSync(pipe, { throwIfNoEntry: false })?.mode ?? 0) & 0o777);
    });

    it('takes the rules out when all of the other container is killed, once and again', async () => {
      for (let killed = 1; killed <= 2; killed++) {
        const cache = owned.add(await node.startCache({ pipe }));
        await untilPiped(cache);
        kill(childOf(cache.pid));
        cache.signal('SIGKILL');
        await node.untilRules(0);
        await untilEqual(killed, () => guard.output.split(ENDED).length - 1);
      }
      await tidy();
    });

    it('leaves them to the node-cache that has taken over, which takes them out itself', async () => {
      const first = owned.add(await node.startCache({ pipe }));
      await untilPiped(first);
      const second = owned.add(await node.startCache());
      first.signal('SIGKILL');
      await guard.waitForLine('the rules stay: another node-cache has taken over');
      await first.waitForLine('the rules stay: another node-cache has taken over');
      await node.untilRules(ALL);
      second.signal('SIGTERM');
      await second.ended;
      expect(await node.rules()).toEqual([]);
      expect(await node.hasInterface()).toBe(false);
    });

    it('stays until node-cache has ended when both get SIGTERM', async () => {
      const cache = owned.add(await node.startCache({ pipe }));
      await untilPiped(cache);
      guard.signal('SIGTERM');
      kill(childOf(cache.pid));
      expect(guard.isRunning).toBe(true);
      cache.signal('SIGKILL');
      await node.untilRules(0);
      expect(await guard.ended).toBe(0);
      await tidy();
    });
  });

  it('is not needed where node-cache hands over: the first leaves all to the second', async () => {
    const first = owned.add(await node.startCache());
    const second = owned.add(await node.startCache());
    first.signal('SIGTERM');
    await first.waitForLine('interface and rules stay: another node-cache has taken over');
    await first.ended;
    await node.untilRules(ALL);
    await node.untilAnswer('10.96.0.10', 'REFUSED');
    second.signal('SIGTERM');
    await second.ended;
    expect(await node.rules()).toEqual([]);
    expect(await node.hasInterface()).toBe(false);
  });
});
