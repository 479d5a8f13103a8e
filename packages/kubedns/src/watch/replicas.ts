import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { Resolver } from 'node:dns/promises';
import { get } from 'node:http';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { formatHostPort, systemReason } from '@kube-dns/base';
import { SnapshotError } from '@kube-dns/daemon';
import { Task } from './pace.js';

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
/** The DNS service leads to any pod, also to one that is starting: another try may lead to another one. */
const LOOKUP_AGAIN_MS = 200;
const LIMIT_MS = 2_000;
/** That of 500,000 endpoints has 10 MB; three are read at a time. */
const MAX_BYTES = 16 * 1024 * 1024;
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_INFORMATIONAL = 8;
const MAX_PROBLEMS = 3;

const MAC_BYTES = 32;
const NONCE_BYTES = 16;
/** Clocks of nodes differ by less. */
const MAX_SKEW_MS = 5 * 60_000;
const SCHEME = /^Replica time=(\d{1,15}) nonce=([0-9a-f]{32}) mac=([0-9a-f]{64})$/;

/** Both sides show that they have the token, and neither sends it. */
function macOf(token: string, what: 'request' | 'answer', nonce: string) {
  return createHmac('sha256', token).update(`kube-dns snapshot ${what}\n${nonce}\n`);
}

/**
 * The header `Authorization` of a request to a replica. It is of use at this address alone, and for five minutes: who gets it
 * cannot ask another replica with it.
 */
export function replicaRequest(
  token: string,
  nonce: string,
  address: string,
  nowMs = Date.now(),
): string {
  const mac = macOf(token, 'request', nonce).update(`${nowMs}\n${address}`).digest('hex');
  return `Replica time=${nowMs} nonce=${nonce} mac=${mac}`;
}

/** The nonce of such a header; undefined for one of another token, to another address or of another time. */
export function nonceOfRequest(
  token: string,
  header: string,
  address: string,
  nowMs = Date.now(),
): string | undefined {
  const [, time = '', nonce = ''] = SCHEME.exec(header) ?? [];
  if (nonce === '' || Math.abs(nowMs - Number(time)) > MAX_SKEW_MS) return undefined;
  const wanted = Buffer.from(replicaRequest(token, nonce, address, Number(time)));
  const given = Buffer.from(header);
  return given.length === wanted.length && timingSafeEqual(given, wanted) ? nonce : undefined;
}

/** The bytes of an answer, and then the HMAC over them and the nonce of the request. */
export async function* withMac(
  bytes: AsyncIterable<Buffer>,
  token: string,
  nonce: string,
): AsyncGenerator<Buffer> {
  const mac = macOf(token, 'answer', nonce);
  for await (const chunk of bytes) {
    mac.update(chunk);
    yield chunk;
  }
  yield mac.digest();
}

/** The same without it. Throws a SnapshotError where it is not that of the token. */
function withoutMac(bytes: Buffer, token: string, nonce: string): Buffer {
  const content = bytes.subarray(0, -MAC_BYTES);
  const mac = macOf(token, 'answer', nonce).update(content).digest();
  const given = bytes.subarray(-MAC_BYTES);
  if (given.length === MAC_BYTES && timingSafeEqual(given, mac)) return content;
  throw new SnapshotError('its answer has not the MAC of the token');
}

/**
 * Finds the other replicas, within `findMs`, and asks them for their snapshots, three at a time and in random order, each for two
 * seconds at most. Those that come go to `take`, which throws for one that is of no use. Resolves to what went wrong, the first few problems.
 */
export async function askReplicas(
  { host, server, port, findMs }: Replicas & { readonly findMs: number },
  token: string,
  take: (found: ReplicaSnapshot) => void,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const problems: string[] = [];
  const note = (who: string, error: unknown) => {
    if (problems.length < MAX_PROBLEMS) problems.push(`${who}: ${systemReason(error)}`);
  };
  let addresses: string[] = [];
  try {
    addresses = shuffled(await lookUpAgain(host, server, findMs, signal)).slice(0, MAX_ASKED);
  } catch (error) {
    note(host, error);
  }
  const asker = async () => {
    for (let address = addresses.pop(); address !== undefined; address = addresses.pop()) {
      if (signal.aborted) return;
      try {
        const limit = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]);
        const nonce = randomBytes(NONCE_BYTES).toString('hex');
        const authorization = replicaRequest(token, nonce, address);
        const answer = await readAnswer(address, port, authorization, limit);
        take({ address, bytes: withoutMac(answer, token, nonce) });
      } catch (error) {
        note(address, error);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, asker));
  return problems;
}

/** Tries for so long. Rejects with the last failure. */
async function lookUpAgain(
  host: string,
  server: string,
  limitMs: number,
  outer: AbortSignal,
): Promise<string[]> {
  const signal = AbortSignal.any([outer, AbortSignal.timeout(limitMs)]);
  for (;;) {
    try {
      return await lookUp(host, server, signal);
    } catch (error) {
      if (!(await new Task(signal).pause(LOOKUP_AGAIN_MS))) throw error;
    }
  }
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
function readAnswer(
  address: string,
  port: number,
  authorization: string,
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
      headers: { authorization },
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
      // However small the pieces are. The system gives memory only for what is written to.
      const body = Buffer.allocUnsafeSlow(MAX_BYTES + MAC_BYTES);
      let length = 0;
      response.on('data', (piece: Buffer) => {
        if (length + piece.length > body.length)
          fail(new SnapshotError(`it has more than ${MAX_BYTES} bytes`));
        else length += piece.copy(body, length);
      });
      response.on('end', () => resolve(body.subarray(0, length)));
    });
  });
}
