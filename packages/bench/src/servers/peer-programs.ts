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

/** The peers of kubedns that a path can be given for. */
export type PeerName = 'kube-dns' | 'coredns';

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
function corednsArgs(apiUrl: string, port: number, folder: string): readonly string[] {
  const corefile = join(folder, 'Corefile');
  const block = [`kubernetes ${ZONE} {`, `  endpoint ${apiUrl}`, '}'];
  const lines = [`.:${port} {`, '  bind 127.0.0.1', ...block.map((line) => `  ${line}`), '}'];
  writeFileSync(corefile, `${lines.join('\n')}\n`);
  return [`-conf=${corefile}`];
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
  static async start(
    name: PeerName,
    path: string,
    { apiUrl, knownName }: { readonly apiUrl: string; readonly knownName: string },
  ): Promise<PeerProgram> {
    const owned = new Owned();
    try {
      const { path: folder } = owned.add(new TemporaryFolder());
      const port = await freePort();
      const isGo = name === 'kube-dns';
      const args = isGo ? await kubeDnsArgs(apiUrl, port) : corednsArgs(apiUrl, port, folder);
      const server = owned.add(new RunningProgram(name, path, args));
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
