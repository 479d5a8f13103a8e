import { Resolver } from 'node:dns/promises';
import { get } from 'node:http';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { formatHostPort, systemReason } from '@kube-dns/base';
import { SnapshotError } from '@kube-dns/daemon';

/** The other replicas of this DNS pod, and how they are found. */
export interface Replicas {
  /** A name that has the addresses of all. */
  readonly host: string;
  /** The DNS server that knows it: `ip` or `ip:port`. */
  readonly server: string;
  /** Of `/snapshot`. */
  readonly port: number;
}

/** What a replica gave. */
export interface ReplicaSnapshot {
  readonly address: string;
  readonly bytes: Buffer;
}

/** The path at which a replica gives its snapshot. */
export const SNAPSHOT_PATH = '/snapshot';
/** Of the replicas of a large cluster: each has the same. */
const MAX_ASKED = 64;
const AT_A_TIME = 3;
const LOOKUP_MS = 1_000;
const LIMIT_MS = 2_000;
/** That of 500,000 endpoints has 10 MB; three are read at a time. */
const MAX_BYTES = 16 * 1024 * 1024;
const FIRST_BYTES = 64 * 1024;
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_INFORMATIONAL = 8;
const MAX_PROBLEMS = 3;

/**
 * Asks the other replicas for their snapshots, three at a time and in random order, each for two seconds at most. Those that
 * come go to `take`, which throws for one that is of no use. Resolves to what went wrong, the first few problems.
 */
export async function askReplicas(
  { host, server, port }: Replicas,
  token: string,
  take: (found: ReplicaSnapshot) => void,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const problems: string[] = [];
  const note = (who: string, error: unknown) => {
    if (problems.length < MAX_PROBLEMS && !signal.aborted)
      problems.push(`${who}: ${systemReason(error)}`);
  };
  let addresses: string[] = [];
  try {
    addresses = shuffled(await lookUp(host, server, signal)).slice(0, MAX_ASKED);
  } catch (error) {
    note(host, error);
  }
  const asker = async () => {
    for (let address = addresses.pop(); address !== undefined; address = addresses.pop()) {
      if (signal.aborted) return;
      try {
        const limit = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]);
        take({ address, bytes: await readSnapshot(address, port, token, limit) });
      } catch (error) {
        note(address, error);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, asker));
  return problems;
}

/** The addresses of a name without our own. Rejects when there are none. */
async function lookUp(host: string, server: string, signal: AbortSignal): Promise<string[]> {
  const resolver = new Resolver({ timeout: LOOKUP_MS, tries: 1 });
  const cancel = () => resolver.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    resolver.setServers([server]);
    const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const addresses = found.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
    const failed = found.find((each) => each.status === 'rejected');
    if (addresses.length === 0 && failed !== undefined) throw failed.reason;
    const own = new Set(
      Object.values(networkInterfaces()).flatMap((all) => all?.map(({ address }) => address)),
    );
    return [...new Set(addresses)].filter((address) => isIP(address) !== 0 && !own.has(address));
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

function shuffled<T>(items: T[]): T[] {
  for (let i = items.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1));
    [items[i], items[j]] = [items[j]!, items[i]!];
  }
  return items;
}

/** Rejects with the reason for an answer that is none, is too long, or does not come in time. */
function readSnapshot(
  address: string,
  port: number,
  token: string,
  signal: AbortSignal,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => {
      request.destroy();
      const isLate = signal.aborted && !(error instanceof SnapshotError);
      reject(isLate ? new SnapshotError('no whole snapshot in time') : (error as Error));
    };
    const request = get(`http://${formatHostPort({ host: address, port })}${SNAPSHOT_PATH}`, {
      agent: false,
      headers: { authorization: `Bearer ${token}` },
      maxHeaderSize: MAX_HEADER_BYTES,
      signal,
    });
    let informational = 0;
    request.on('information', () => {
      if (++informational > MAX_INFORMATIONAL) fail(new SnapshotError('it sends no answer'));
    });
    request.on('error', fail);
    request.on('response', (response) => {
      response.on('error', fail);
      if (response.statusCode !== 200) {
        fail(new SnapshotError(`HTTP ${response.statusCode}`));
        return;
      }
      const body = new GrowingBuffer();
      response.on('data', (piece: Buffer) => {
        if (body.length + piece.length > MAX_BYTES)
          fail(new SnapshotError(`it has more than ${MAX_BYTES} bytes`));
        else body.add(piece);
      });
      response.on('end', () => resolve(body.bytes));
    });
  });
}

/** Bytes in one piece, however small those are that come. */
class GrowingBuffer {
  length = 0;
  #bytes = Buffer.alloc(FIRST_BYTES);

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.length);
  }

  add(piece: Buffer): void {
    const length = this.length + piece.length;
    if (length > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(length, 2 * this.#bytes.length));
      this.#bytes.copy(larger);
      this.#bytes = larger;
    }
    piece.copy(this.#bytes, this.length);
    this.length = length;
  }
}
