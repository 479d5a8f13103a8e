import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  awaitRecord,
  type Closable,
  freePort,
  Owned,
  RunningProgram,
  TemporaryFolder,
} from '@kube-dns/testkit';
import { encodeQuery } from '@kube-dns/wire';
import { ZONE } from '../cluster/cluster-plan.js';

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
}

interface PeerStart extends PeerOptions {
  readonly apiUrl: string;
  /** A Go program finds out by itself on how many it runs, but before it is pinned. */
  readonly isOnOneCore: boolean;
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
    const { apiUrl, knownName, isOnOneCore } = start;
    const owned = new Owned();
    try {
      const { path: folder } = owned.add(new TemporaryFolder());
      const port = await freePort();
      const args = {
        'kube-dns': () => kubeDnsArgs(apiUrl, port),
        coredns: () => corednsArgs(port, folder, start),
        'node-cache': () => nodeCacheArgs(port, folder, start),
      }[name];
      const env = isOnOneCore ? { GOMAXPROCS: '1' } : {};
      const how = { env, isForeign: true };
      const server = owned.add(new RunningProgram(name, path, await args(), how));
      const query = encodeQuery({ id: 1, name: knownName, type: 'A' });
      await awaitRecord(server, port, query, START_LIMIT_MS);
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
