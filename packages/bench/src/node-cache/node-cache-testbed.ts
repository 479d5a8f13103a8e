import { join } from 'node:path';
import {
  awaitRecord,
  ConfigVolume,
  type CorePlan,
  encodeQuery,
  freePort,
  type Owned,
  pinProcess,
  Remote,
  RunningProgram,
  TemporaryFolder,
} from '@kube-dns/testkit';
import type { Subject } from '../load/contest.js';
import type { OneAddressMethods } from '../servers/one-address.js';
import { templateOf } from './template.js';

/** What is measured: a bundle with its Node, and the original where a path of it is given. */
export interface NodeCachePrograms {
  readonly node: string;
  readonly nodeFlags: readonly string[];
  readonly nodeCache: string;
  readonly original: string | undefined;
}

/** A node-cache that serves, and its template. */
export interface NodeCacheSubject extends Subject {
  readonly server: RunningProgram;
  /** Replaces the template as kubelet does; it has this longest TTL of the world. */
  readonly edit: (worldTtlSeconds: number) => Promise<void>;
}

export const OUR_NODE_CACHE = 'our node-cache';
export const ORIGINAL = 'original';

const START_LIMIT_MS = 30_000;
const KNOWN = encodeQuery({ name: 'known.example' });
const SERVICE = 'kube-dns-upstream';

/** Starts ours and the original, in front of the same fast name server; closing `owned` ends them. */
export class NodeCacheTestbed {
  readonly #programs: NodeCachePrograms;
  readonly #owned: Owned;
  readonly #cores: CorePlan | undefined;
  #upstreamPort = 0;

  private constructor(programs: NodeCachePrograms, owned: Owned, cores: CorePlan | undefined) {
    this.#programs = programs;
    this.#owned = owned;
    this.#cores = cores;
  }

  static async create(
    programs: NodeCachePrograms,
    owned: Owned,
    cores: CorePlan | undefined,
  ): Promise<NodeCacheTestbed> {
    const testbed = new NodeCacheTestbed(programs, owned, cores);
    const entry = new URL('../servers/one-address.js#OneAddress', import.meta.url);
    const remote = owned.add(new Remote<OneAddressMethods>('the name server', entry));
    testbed.#upstreamPort = await remote.call('start');
    await pinProcess(remote.pid, cores?.upstream);
    return testbed;
  }

  /** Ours, then the original if it is there. */
  async subjects(): Promise<readonly NodeCacheSubject[]> {
    const { node, nodeFlags, nodeCache, original } = this.#programs;
    const ours = await this.#start(OUR_NODE_CACHE, node, [...nodeFlags, nodeCache]);
    if (original === undefined) return [ours];
    return [ours, await this.#start(ORIGINAL, original, [])];
  }

  async #start(name: string, command: string, first: readonly string[]): Promise<NodeCacheSubject> {
    const ports = {
      dns: await freePort(),
      metrics: await freePort(),
      health: await freePort(),
      upstream: this.#upstreamPort,
    };
    const { path } = this.#owned.add(new TemporaryFolder());
    const volume = this.#owned.add(await ConfigVolume.create());
    const edit = (seconds?: number) => volume.put({ 'Corefile.base': templateOf(ports, seconds) });
    await edit();
    const args = [
      ...['-localip', '127.0.0.1', '-setupinterface=false', '-setupiptables=false'],
      ...['-metrics-listen-address', '127.0.0.1:0', '-upstreamsvc', SERVICE],
      ...['-basecorefile', join(volume.path, 'Corefile.base'), '-conf', join(path, 'Corefile')],
    ];
    // A Go program finds out by itself on how many cores it runs, but before it is pinned.
    const env = {
      KUBE_DNS_UPSTREAM_SERVICE_HOST: '127.0.0.1',
      ...(this.#cores !== undefined && { GOMAXPROCS: '1' }),
    };
    const how = { env, isForeign: name === ORIGINAL };
    const server = this.#owned.add(new RunningProgram(name, command, [...first, ...args], how));
    await awaitRecord(server, ports.dns, KNOWN, START_LIMIT_MS);
    const { pid } = server;
    await pinProcess(pid, this.#cores?.server);
    const check = () => server.check();
    return { name, port: ports.dns, pid, isOneProcess: true, check, server, edit };
  }
}
