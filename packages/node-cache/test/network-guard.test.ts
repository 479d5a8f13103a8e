import { readdirSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  holdsOnce,
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
/** The bar of the guard, and what a busy machine may add to it. */
const LIMIT_MS = 2_000;
const GENEROUS_MS = 10_000;

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
  }, 30_000);
  afterEach(() => owned.clear());
  afterAll(() => shared.close());

  const kill = (pid: number, signal: NodeJS.Signals = 'SIGKILL') => process.kill(pid, signal);

  /** How long it takes until no rule is left, from now. */
  const removalMs = async () => {
    const start = performance.now();
    await node.untilRules(0, GENEROUS_MS);
    return performance.now() - start;
  };

  /** After a test that leaves the interface: a start takes it over, and its end takes it away. */
  const tidy = async () => {
    const cache = owned.add(await node.startCache());
    cache.signal('SIGTERM');
    await cache.ended;
    expect(await node.rules()).toEqual([]);
    expect(await node.hasInterface()).toBe(false);
  };

  it.each(['nft', 'iptables'])(
    'takes the rules by %s out within two seconds of a kill -9, and pods reach the DNS of the cluster',
    async (setup) => {
      await holdsOnce(async () => {
        const cache = owned.add(await node.startCache({ setup }));
        for (const address of DNS_ADDRESSES) expect(await node.ask(address)).toBe('REFUSED');
        cache.signal('SIGKILL');
        const ms = await removalMs();
        for (const address of DNS_ADDRESSES) expect(await node.ask(address)).toBe('NXDOMAIN');
        expect(await node.hasInterface()).toBe(true);
        await tidy();
        expect(ms).toBeLessThan(LIMIT_MS);
      });
    },
  );

  it('takes out what is left of the rules by iptables', async () => {
    const cache = owned.add(await node.startCache({ setup: 'iptables' }));
    await node.run('iptables', '-t', 'raw', '-D', 'PREROUTING', '1');
    await node.run('ip6tables', '-F', 'OUTPUT');
    cache.signal('SIGKILL');
    await removalMs();
    await tidy();
  });

  it('takes the rules out while node-cache is stopped, which puts them back when it goes on', async () => {
    const cache = owned.add(await node.startCache());
    cache.signal('SIGSTOP');
    const ms = await removalMs();
    // The last probe was answered up to half a second before.
    expect(ms).toBeGreaterThan(LIMIT_MS / 2);
    expect(await node.ask('10.96.0.10')).toBe('NXDOMAIN');
    cache.signal('SIGCONT');
    await node.untilRules(ALL);
    expect(await node.ask('10.96.0.10')).toBe('REFUSED');
    cache.signal('SIGTERM');
    await cache.ended;
    expect(await node.rules()).toEqual([]);
  });

  it('ends with node-cache, and does nothing after an orderly end or with --skipteardown', async () => {
    const cache = owned.add(await node.startCache());
    const guard = childOf(cache.pid);
    expect(isAlive(guard)).toBe(true);
    cache.signal('SIGTERM');
    await cache.ended;
    await untilEqual(false, () => isAlive(guard));
    expect(cache.output).not.toContain('node-cache guard');
    const other = owned.add(await node.startCache({ skipsTeardown: true }));
    other.signal('SIGTERM');
    await other.ended;
    expect(await node.rules()).toHaveLength(ALL);
    await tidy();
  });

  describe('as the first process of a container', () => {
    const start = (options = {}): Promise<RunningProgram> =>
      node.startCache(options, ['unshare', '--pid', '--fork', '--kill-child', 'bash', GUARD]);

    it('outlives the kill -9 of node-cache, takes the rules out and ends as it ended', async () => {
      await holdsOnce(async () => {
        const container = owned.add(await start());
        kill(childOf(childOf(container.pid)));
        const ms = await removalMs();
        expect(await container.ended).toBe(128 + 9);
        expect(container.output).toContain('took the rules out: node-cache has ended');
        await tidy();
        expect(ms).toBeLessThan(LIMIT_MS);
      });
    });

    it('passes SIGTERM on, and has nothing to do', async () => {
      const container = owned.add(await start());
      kill(childOf(container.pid), 'SIGTERM');
      expect(await container.ended).toBe(7);
      expect(container.output).toContain('rules are out');
      expect(container.output).not.toContain('node-cache guard');
      expect(await node.rules()).toEqual([]);
      expect(await node.hasInterface()).toBe(false);
    });
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
      let killed = 0;
      const removals = () => guard.output.split('took the rules out').length - 1;
      const killOnce = async () => {
        const cache = owned.add(await node.startCache({ pipe }));
        await untilPiped(cache);
        kill(childOf(cache.pid));
        cache.signal('SIGKILL');
        const ms = await removalMs();
        await untilEqual(++killed, removals);
        expect(ms).toBeLessThan(LIMIT_MS);
      };
      for (let i = 1; i <= 2; i++) await holdsOnce(killOnce);
      await tidy();
    });

    it('leaves them to the node-cache that has taken over, which takes them out itself', async () => {
      const first = owned.add(await node.startCache({ pipe }));
      await untilPiped(first);
      const second = owned.add(await node.startCache());
      first.signal('SIGKILL');
      await guard.waitForLine('the rules stay: another node-cache has taken over');
      await first.waitForLine('the rules stay: another node-cache has taken over');
      expect(await node.rules()).toHaveLength(ALL);
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
      await removalMs();
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
    expect(await node.rules()).toHaveLength(ALL);
    expect(await node.ask('10.96.0.10')).toBe('REFUSED');
    second.signal('SIGTERM');
    await second.ended;
    expect(await node.rules()).toEqual([]);
    expect(await node.hasInterface()).toBe(false);
  });
});
