import { jest } from '@jest/globals';
import {
  freePort,
  type NameServerRequest,
  type Script,
  ScriptedNameServer,
  until,
} from '@kube-dns/testkit';
import { SourceRecord } from '@kube-dns/resolver/testing';
import { chooseUdpEngine, type ServerAddress } from '@kube-dns/transport';
import { readServerBlocks } from '../../src/corefile/read-server-blocks.js';
import { NodeCacheServer } from '../../src/server.js';

const ADDRESS = '127.0.0.1';

/** The block of the cluster in the addon's Corefile. */
export const CLUSTER = `
cluster.local:PORT {
    errors
    cache {
        success 9984 30
        denial 9984 5
    }
    forward . UPSTREAM {
        force_tcp
    }
}
`;
/** Its last block, for all other names. */
export const WORLD = `
.:PORT {
    errors
    cache 30
    forward . UPSTREAM
}
`;

/** A Corefile with PORT and UPSTREAM replaced, and its blocks on loopback. */
export function corefileOn(corefile: string, port: number, upstream: string): string {
  return corefile
    .replaceAll('PORT', `${port}`)
    .replaceAll('UPSTREAM', upstream)
    .replaceAll(/^(\S+ \{)$/gm, `$1\n    bind ${ADDRESS}`);
}

const PASSED_MS = 500;

/**
 * A node-cache on loopback that serves Corefiles, in front of a scripted DNS of the cluster; the network is noted only.
 * For tests that hold the time.
 */
export class Testbed {
  readonly port: number;
  readonly upstream: ScriptedNameServer;
  readonly server: NodeCacheServer;
  /** What the network was asked to do, in order; beats are left out. */
  readonly network: string[] = [];
  readonly lines: string[] = [];
  /** Where the answers came from. */
  readonly sources = new SourceRecord();
  /** Whether the address of the cluster's DNS is known. */
  isClusterKnown = true;

  private constructor(
    port: number,
    upstream: ScriptedNameServer,
    engine: Engine,
    snapshotFile: string,
  ) {
    this.port = port;
    this.upstream = upstream;
    const note = (what: string) => () => {
      this.network.push(what);
      return Promise.resolve();
    };
    const log = (line: string) => this.lines.push(line);
    this.server = new NodeCacheServer({
      engine,
      reusesPort: false,
      maxTcpAgeMs: 0,
      snapshotFile,
      observer: this.sources,
      drainMs: 0,
      clusterServer: () => (this.isClusterKnown ? this.#cluster : undefined),
      network: {
        prepare: note('prepare'),
        addRules: note('add rules'),
        beat: () => undefined,
        removeRules: note('remove rules'),
        removeInterface: note('remove interface'),
      },
      log: { info: log, warn: log, error: log, verbose: () => undefined, isEnabled: () => false },
    });
  }

  /** With a file, the cached answers of the cluster are there through a restart. */
  static async create(script: Script, snapshotFile = ''): Promise<Testbed> {
    const { engine } = await chooseUdpEngine('auto');
    const upstream = await ScriptedNameServer.start(script);
    return new Testbed(await freePort(), upstream, engine, snapshotFile);
  }

  /** The questions that reached the DNS of the cluster, without probes, which are for the root. */
  get asked(): readonly NameServerRequest[] {
    return this.upstream.requests.filter(({ question }) => question.name !== '.');
  }

  /** Serves a Corefile, in which PORT is the port of blocks and UPSTREAM the name server. */
  async serve(corefile: string): Promise<void> {
    const text = corefileOn(corefile, this.port, `${ADDRESS}:${this.upstream.port}`);
    await this.server.apply(readServerBlocks(text, 'Corefile'));
  }

  /** Lets time pass until what is in flight is answered. */
  async close(): Promise<void> {
    let isClosed = false;
    const closing = this.server.close().finally(() => (isClosed = true));
    await until(async () => {
      await jest.advanceTimersByTimeAsync(PASSED_MS);
      return isClosed;
    });
    await closing;
    await this.upstream.close();
  }

  get #cluster(): ServerAddress {
    return { address: ADDRESS, port: this.upstream.port };
  }
}

type Engine = Awaited<ReturnType<typeof chooseUdpEngine>>['engine'];
