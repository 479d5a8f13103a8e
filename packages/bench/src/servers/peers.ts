import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorText } from '@kube-dns/base';
import { parsePod, renderFolder } from '@kube-dns/cli';
import {
  awaitRecord,
  type Closable,
  type CorePlan,
  freePort,
  NetworkNamespace,
  outputOf,
  Owned,
  pinnedCommand,
  pinProcess,
  Remote,
  RunningProgram,
  TemporaryFolder,
  nodeFlagsOf,
} from '@kube-dns/testkit';
import { encodeQuery } from '@kube-dns/wire';
import { ZONE } from '../cluster/cluster-plan.js';
import { echoName, type Subject } from '../load/scores.js';
import type { EchoMethods } from './echo.js';
import type { OneAddressMethods } from './one-address.js';

/** How often a measured kubedns is asked whether it is ready: each answer costs it a millisecond of its start. */
export const READY_STEP_MS = 100;

/** What a measured kubedns is started with: it serves only what its API server has, and no metrics. */
export function followingKubedns(
  apiUrl: string,
  flags: readonly string[],
  moreNodeFlags: readonly string[] = [],
) {
  return {
    nodeFlags: nodeFlagsOf('kubedns', moreNodeFlags),
    flags: [`--kube-master-url=${apiUrl}`, '--initial-sync-timeout=0', ...flags],
    hasNoMetrics: true,
  } as const;
}

const FOLDER = fileURLToPath(new URL('../../../../manifests/kube-dns', import.meta.url));

/** The arguments that dnsmasq has in the manifest of the pod, in front of a kubedns at this port. */
export function stockArguments(kubednsPort: number): readonly string[] {
  const deployment = renderFolder(FOLDER).objects.find(({ kind }) => kind === 'Deployment');
  const { containers } = parsePod(JSON.stringify(deployment), FOLDER);
  const { args } = containers.find(({ name }) => name === 'dnsmasq')!;
  return args.slice(args.indexOf('-k') + 1).map((arg) => arg.replace('#10053', `#${kubednsPort}`));
}

/** The same for the real dnsmasq, with its negative cache. */
export function realStockArguments(kubednsPort: number): readonly string[] {
  return stockArguments(kubednsPort).filter((arg) => !/negcache|log-facility/.test(arg));
}

/** The peers that a path can be given for. */
export type PeerName = 'kube-dns' | 'coredns' | 'node-cache';

/** What a peer of kubedns is started with. */
export interface PeerOptions {
  /** A name that has an address. */
  readonly knownName: string;
  /** CoreDNS as clusters have it, with `cache 30`, and the port of the name server for names of the world. */
  readonly stock?: { readonly upstreamPort?: number };
  /** A CoreDNS or node-cache with these in place of the cluster. */
  readonly directives?: readonly string[];
  /** GOMAXPROCS; default: 1 where it is pinned to a core, else what the program finds out. */
  readonly processors?: number;
}

interface PeerStart extends PeerOptions {
  readonly apiUrl: string;
  /** A Go program finds out by itself on how many it runs, but before it is pinned. */
  readonly isOnOneCore: boolean;
  /** Default: a free one. */
  readonly port?: number;
  /** The core of all its threads from the start on; default: any. */
  readonly core?: number | undefined;
  /** How long it may take until it has the address. */
  readonly limitMs?: number;
}

const STOCK_SECONDS = 30;
/** No server listens there, so no query of a bench leaves the machine. */
const NO_NAMESERVER = '127.0.0.1:9';
const START_LIMIT_MS = 60_000;

/** The command line of the Go kube-dns 1.26. */
async function kubeDnsArgs(apiUrl: string, port: number): Promise<readonly string[]> {
  return [
    `--kube-master-url=${apiUrl}`,
    '--dns-bind-address=127.0.0.1',
    `--dns-port=${port}`,
    `--healthz-port=${await freePort()}`,
    `--nameservers=${NO_NAMESERVER}`,
    `--domain=${ZONE}.`,
  ];
}

/** The command line of CoreDNS, whose only configuration is a file. */
function corednsArgs(port: number, folder: string, options: PeerStart): readonly string[] {
  const corefile = join(folder, 'Corefile');
  const { apiUrl, stock, directives } = options;
  const kubernetes =
    stock === undefined
      ? [`kubernetes ${ZONE} {`, `  endpoint ${apiUrl}`, '}']
      : [
          `kubernetes ${ZONE} in-addr.arpa ip6.arpa {`,
          `  endpoint ${apiUrl}`,
          '  pods insecure',
          `  ttl ${STOCK_SECONDS}`,
          '}',
          `cache ${STOCK_SECONDS}`,
        ];
  const upstream = stock?.upstreamPort;
  const forward = upstream === undefined ? [] : [`forward . 127.0.0.1:${upstream}`];
  const own = directives ?? [...kubernetes, ...forward];
  const block = ['bind 127.0.0.1', ...own].map((line) => `  ${line}`);
  writeFileSync(corefile, [`.:${port} {`, ...block, '}', ''].join('\n'));
  return [`-conf=${corefile}`];
}

/** The command line of the original node-cache, whose template here has one block and no variables. */
function nodeCacheArgs(
  port: number,
  folder: string,
  { directives = [] }: PeerStart,
): readonly string[] {
  const template = join(folder, 'Corefile.base');
  const block = ['bind 127.0.0.1', ...directives].map((line) => `  ${line}`);
  writeFileSync(template, [`.:${port} {`, ...block, '}', ''].join('\n'));
  return [
    ...['-localip', '127.0.0.1', '-setupinterface=false', '-setupiptables=false'],
    ...['-metrics-listen-address', '127.0.0.1:0', '-basecorefile', template],
    ...['-conf', join(folder, 'Corefile')],
  ];
}

/** A peer of kubedns on a free port of 127.0.0.1 that follows the same API server. */
export class PeerProgram implements Closable {
  readonly server: RunningProgram;
  readonly port: number;
  readonly #owned: Owned;

  private constructor(server: RunningProgram, port: number, owned: Owned) {
    this.server = server;
    this.port = port;
    this.#owned = owned;
  }

  /** Starts it and waits until it has the address of this name. Throws a MeasureError. */
  static async start(name: PeerName, path: string, start: PeerStart): Promise<PeerProgram> {
    const { apiUrl, knownName, isOnOneCore, processors = isOnOneCore ? 1 : undefined } = start;
    const owned = new Owned();
    try {
      const { path: folder } = owned.add(new TemporaryFolder());
      const { port = await freePort(), limitMs = START_LIMIT_MS } = start;
      const args = {
        'kube-dns': () => kubeDnsArgs(apiUrl, port),
        coredns: () => corednsArgs(port, folder, start),
        'node-cache': () => nodeCacheArgs(port, folder, start),
      }[name];
      const env = processors === undefined ? {} : { GOMAXPROCS: String(processors) };
      const how = { env, isForeign: true };
      const pinned = pinnedCommand(start.core, path, await args());
      const server = owned.add(new RunningProgram(name, pinned.command, pinned.args, how));
      const query = encodeQuery({ id: 1, name: knownName, type: 'A' });
      await awaitRecord(server, port, query, limitMs);
      return new PeerProgram(server, port, owned);
    } catch (error) {
      await owned.close();
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#owned.close();
  }
}

/** The echo as one more contestant, on the core of the measured servers and with the flags of the image of dnsmasq, and further ones. */
export async function startEcho(
  owned: Owned,
  more: readonly string[],
  cores: CorePlan | undefined,
): Promise<Subject> {
  const entry = new URL('./echo.js#Echo', import.meta.url);
  const remote = owned.add(
    new Remote<EchoMethods>('the echo', entry, { nodeFlags: nodeFlagsOf('dnsmasq', more) }),
  );
  const { port, engine } = await remote.call('start');
  await pinProcess(remote.pid, cores?.server);
  return {
    name: echoName(engine),
    port,
    pid: remote.pid,
    isOneProcess: true,
    isUdpOnly: true,
    isEcho: true,
    check: () => undefined,
  };
}

/** A name server that a forwarder asks over a network. */
export interface OutsideServer {
  readonly address: string;
  readonly port: number;
  readonly behind: NonNullable<Subject['behind']>;
  /** Why it is on loopback all the same; undefined where it has a network of its own. */
  readonly loopbackReason: string | undefined;
}

const NETWORK = '198.18';
const NAME = 'the name server';

/**
 * A fast name server in a network namespace of its own, behind a pair of virtual links; where this
 * process may not make these, on loopback. The addresses are those for benchmarks (RFC 2544 appendix C.2.2).
 */
export async function startOutside(
  owned: Owned,
  cores: CorePlan | undefined,
): Promise<OutsideServer> {
  const link = await createLink(owned).catch((error: unknown) => errorText(error));
  const isLinked = typeof link !== 'string';
  const address = isLinked ? link.address : '127.0.0.1';
  const entry = new URL('./one-address.js#OneAddress', import.meta.url);
  const through = isLinked ? { through: link.entrance } : {};
  const remote = owned.add(new Remote<OneAddressMethods>(NAME, entry, through));
  const port = await remote.call('start', address);
  await pinProcess(remote.pid, cores?.upstream);
  const behind = { name: NAME, pid: remote.pid, check: () => undefined };
  return { address, port, behind, loopbackReason: isLinked ? undefined : link };
}

/** The far end's address, and the words in front of a command that is to run there. */
interface Link {
  readonly address: string;
  readonly entrance: readonly string[];
}

/** It ends with its namespace. Throws a MeasureError. */
async function createLink(owned: Owned): Promise<Link> {
  const namespace = owned.add(await NetworkNamespace.create());
  const { pid } = namespace;
  // The links of two benches at the same time have different addresses.
  const block = `${NETWORK}.${(pid >> 6) & 0xff}`;
  const first = (pid & 0x3f) * 4;
  const address = `${block}.${first + 2}`;
  const link = `bench${pid}`;
  const ends = ['type', 'veth', 'peer', 'name', link, 'netns', String(pid)];
  await outputOf('ip', ['link', 'add', link, ...ends]);
  await outputOf('ip', ['address', 'add', `${block}.${first + 1}/30`, 'dev', link]);
  await outputOf('ip', ['link', 'set', link, 'up']);
  await namespace.run('ip', 'address', 'add', `${address}/30`, 'dev', link);
  await namespace.run('ip', 'link', 'set', link, 'up');
  return { address, entrance: namespace.entrance };
}
