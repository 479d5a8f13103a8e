import { join } from 'node:path';
import {
  becomesTrue,
  builtProgram,
  ConfigVolume,
  findProgram,
  freePort,
  imageStart,
  isOk,
  MeasureError,
  MetricPage,
  type RunningProgram,
  TemporaryFolder,
} from '@kube-dns/testkit';
import { startContainer } from '../fixtures/container.js';
import { expectedAddress } from '../fixtures/expected-address.js';
import { FakeUpstream } from '../fixtures/fake-upstream.js';
import { type Seen, SteadyClient } from '../fixtures/steady-client.js';
import { type Tally, tally } from '../fixtures/tally.js';
import type { FaultContext } from './fault.js';
import { text } from './upstream-testbed.js';

/** First bytes of the addresses that each server gives: the DNS of the cluster, as it is later, and two of the world. */
export const NETWORKS = { cluster: 10, changed: 11, world: 20, other: 21 } as const;
export type Whose = keyof typeof NETWORKS;

/** `known`: names of the cluster that were asked for before; `cluster`: its other names; `cached` and `world`: both of the world. */
export type Kind = 'known' | 'cluster' | 'cached' | 'world';

const DNS_PORT = 53;
const RATE_PER_SECOND = 80;
/** Each is asked for more often than it expires. */
const KNOWN = Array.from({ length: 5 }, (_, i) => `known-${i}.svc.cluster.local`);
const CACHED = Array.from({ length: 5 }, (_, i) => `cached-${i}.example`);
/** More than any row asks for. */
const FRESH_COUNT = 2_000;
const NAMES = Array.from({ length: FRESH_COUNT }, (_, i) => [
  KNOWN[i % KNOWN.length]!,
  `fresh-${i}.svc.cluster.local`,
  CACHED[i % CACHED.length]!,
  `fresh-${i}.example`,
]).flat();
const CLIENT_TIMEOUT_MS = 10_000;
const SETTLED_AFTER = 60;
/** Only what never comes takes as long. */
const LIMIT_MS = 60_000;
const STEP_MS = 10;
/** More than an answer out of memory takes on a machine whose cores are busy. */
const LATE_MS = 2_500;
const DRAIN = '300ms';

export function kindOf({ name }: Pick<Seen, 'name'>): Kind {
  if (name.startsWith('known-')) return 'known';
  if (name.startsWith('cached-')) return 'cached';
  return name.endsWith('.example') ? 'world' : 'cluster';
}

/** Whether an answer is that of a server. */
export function isOf(server: Whose): (seen: Seen) => boolean {
  return ({ name, text }) => text === expectedAddress(name, NETWORKS[server]);
}

/** Whether an answer is the one that the name has while all is well. */
export function isRight(seen: Seen): boolean {
  const kind = kindOf(seen);
  return isOf(kind === 'known' || kind === 'cluster' ? 'cluster' : 'world')(seen);
}

let served = 0;

/** An address of loopback that no other row has, with the port of DNS. */
function ownAddress(): { readonly address: string; readonly port: number } {
  const { pid } = process;
  const address = `127.${64 + (pid & 0x7f)}.${(pid >> 7) & 0xff}.${1 + (served++ % 250)}`;
  return { address, port: DNS_PORT };
}

interface Ports {
  readonly dns: number;
  readonly metrics: number;
  readonly health: number;
}

/** A node-cache between the DNS of a cluster and servers of the world, and clients that ask it all the time. */
export class NodeCacheTestbed {
  readonly cluster: FakeUpstream;
  readonly world: FakeUpstream;
  readonly other: FakeUpstream;
  /** The folder of the template, and that of the ConfigMap kube-dns. */
  readonly template: ConfigVolume;
  readonly config: ConfigVolume;
  readonly #context: FaultContext;
  readonly #ports: Ports;
  readonly #folder: TemporaryFolder;
  readonly #clients: SteadyClient[] = [];
  #starts = 0;

  private constructor(
    context: FaultContext,
    ports: Ports,
    servers: readonly [FakeUpstream, FakeUpstream, FakeUpstream],
    volumes: readonly [ConfigVolume, ConfigVolume],
  ) {
    this.#context = context;
    this.#ports = ports;
    [this.cluster, this.world, this.other] = servers;
    [this.template, this.config] = volumes;
    this.#folder = context.owned.add(new TemporaryFolder());
  }

  /** Makes all but the node-cache. */
  static async create(context: FaultContext): Promise<NodeCacheTestbed> {
    const { owned } = context;
    const serve = async (network: number) =>
      owned.add(await FakeUpstream.start({ network, at: ownAddress() }));
    const { cluster, world, other } = NETWORKS;
    const servers = [await serve(cluster), await serve(world), await serve(other)] as const;
    const ports = { dns: await freePort(), metrics: await freePort(), health: await freePort() };
    const volume = async () => owned.add(await ConfigVolume.create({}));
    const testbed = new NodeCacheTestbed(context, ports, servers, [await volume(), await volume()]);
    await testbed.setTemplate(testbed.world.address);
    return testbed;
  }

  /** The standard Corefile in short, with names of the cluster that expire after a second; `world` is a server or a file. */
  async setTemplate(world: string, more = ''): Promise<void> {
    const { dns, health } = this.#ports;
    const template = `
cluster.local:${dns} {
    errors
    cache {
        success 9984 1 1
        denial 9984 5
    }
    bind __PILLAR__LOCAL__DNS__
    forward . __PILLAR__CLUSTER__DNS__ {
        prefer_udp
    }
    health 127.0.0.1:${health}
    ready 127.0.0.1:${health}
}
.:${dns} {
    errors
    cache 30
    bind __PILLAR__LOCAL__DNS__
    forward . ${world}
}
${more}`;
    await this.template.put({ 'Corefile.base': template });
  }

  /** Writes a file next to the Corefile, and returns its path. */
  file(name: string, content: string): string {
    return this.#folder.file(name, content);
  }

  /** Starts a node-cache, and waits until it serves. */
  async start(...flags: readonly string[]): Promise<RunningProgram> {
    const { node, nodeFlags, owned } = this.#context;
    const { dns, metrics } = this.#ports;
    const args = [
      '-localip=127.0.0.1',
      '-setupinterface=false',
      '-setupiptables=false',
      `-basecorefile=${join(this.template.path, 'Corefile.base')}`,
      `-conf=${join(this.#folder.path, `Corefile-${this.#starts++}`)}`,
      `-kubednscm=${this.config.path}`,
      `-dns.port=${dns}`,
      `-metrics-listen-address=127.0.0.1:${metrics}`,
      `-drain-time=${DRAIN}`,
      ...flags,
    ];
    const program = startContainer({
      name: 'node-cache',
      node,
      nodeFlags: [...imageStart('node-cache').nodeFlags, ...nodeFlags],
      program: builtProgram('node-cache'),
      args,
      env: { KUBE_DNS_SERVICE_HOST: this.cluster.address },
    });
    owned.add(program);
    await program.waitForLine('Running configuration SHA512', { limitMs: LIMIT_MS });
    return program;
  }

  /** Starts clients that go on asking, and waits until all is well. */
  async settled(count = 1): Promise<void> {
    const { owned, signs } = this.#context;
    const questions = {
      port: this.#ports.dns,
      names: NAMES,
      ratePerSecond: RATE_PER_SECOND / count,
      timeoutMs: CLIENT_TIMEOUT_MS,
      pages: [`http://127.0.0.1:${this.#ports.metrics}`],
    };
    for (let i = 0; i < count; i++) {
      const client = await SteadyClient.start(questions, i === 0 ? signs : undefined);
      this.#clients.push(owned.add(client));
    }
    await this.waitFor('right answers at first', () => {
      const last = this.#clients.map(({ seen }) => seen.slice(-SETTLED_AFTER / count));
      return last.every((seen) => seen.length >= SETTLED_AFTER / count && seen.every(isRight));
    });
    await this.waitFor('readiness', () => this.isReady());
  }

  /** Everything that was decided so far. */
  get seen(): readonly Seen[] {
    return this.#clients.flatMap(({ seen }) => seen);
  }

  metrics(): Promise<MetricPage> {
    return MetricPage.read(`http://127.0.0.1:${this.#ports.metrics}/metrics`);
  }

  /** Whether `/ready` is 200. */
  isReady(): Promise<boolean> {
    return isOk(this.#ports.health, '/ready', LIMIT_MS);
  }

  /** Waits until dig has read each of these Extended DNS Errors; without dig it waits for none. */
  async untilRead(...codes: readonly number[]): Promise<void> {
    if (findProgram('dig') === undefined) return;
    const { reasons } = this.#context.signs;
    const isRead = () => codes.every((code) => reasons.has(code));
    await this.waitFor(`Extended DNS Errors ${codes.join(' and ')}`, isRead);
  }

  /** Waits until each of these kinds was answered by a server, to questions that were sent since then. */
  async answeredBy(server: Whose, kinds: readonly Kind[], sinceMs: number): Promise<void> {
    const isSo = isOf(server);
    await this.waitFor(`answers of ${server}`, () => {
      const seen = this.seen.filter((each) => each.sentMs >= sinceMs && isSo(each));
      return kinds.every((kind) => seen.some((each) => kindOf(each) === kind));
    });
  }

  /** Waits for something; throws a MeasureError when it does not come. */
  async waitFor(what: string, isThere: () => boolean | Promise<boolean>): Promise<void> {
    if (await becomesTrue(isThere, { limitMs: LIMIT_MS, stepMs: STEP_MS })) return;
    throw new MeasureError(`no ${what} within ${LIMIT_MS / 1_000} s`);
  }

  /** Sends no more; what became of the questions since then. */
  async finish(sinceMs: number): Promise<readonly Seen[]> {
    const all = await Promise.all(this.#clients.map((client) => client.finish()));
    return all.flat().filter(({ sentMs }) => sentMs >= sinceMs);
  }

  /** Claims that each question of these kinds was answered right, and soon. */
  claimRight(
    seen: readonly Seen[],
    kinds: readonly Kind[],
    isSo: (seen: Seen) => boolean = isRight,
  ): void {
    const { claim, claimQuiet } = this.#context;
    for (const kind of kinds) {
      const result = this.#tally(seen, kind, isSo);
      claim(result.right > 0 && result.wrong.length === 0, `${kind}: ${text(result)}`);
      claimQuiet(result.right === result.asked, `${kind}: ${text(result)}`);
      const slow = `${kind}: an answer took ${Math.round(result.slowestMs)} ms`;
      claimQuiet(result.slowestMs <= LATE_MS, slow);
    }
  }

  /** Claims that each question of a kind was answered right or had this failure, which some had. */
  claimFailure(
    seen: readonly Seen[],
    kind: Kind,
    failure: 'SERVFAIL' | 'silence',
    isSo: (seen: Seen) => boolean = isRight,
  ): void {
    const result = this.#tally(seen, kind, isSo);
    const { claim, claimQuiet } = this.#context;
    const names = Object.keys(result.failed);
    claim(names.includes(failure) && result.wrong.length === 0, `${kind}: ${text(result)}`);
    claimQuiet(names.length === 1, `${kind}: ${text(result)}`);
  }

  #tally(seen: readonly Seen[], kind: Kind, isSo: (seen: Seen) => boolean): Tally {
    return tally(
      seen.filter((each) => kindOf(each) === kind),
      isSo,
    );
  }
}
