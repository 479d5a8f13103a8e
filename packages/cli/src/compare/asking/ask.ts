import { setTimeout as delay } from 'node:timers/promises';
import { exchange, type ExchangeError, type ServerAddress } from '@kube-dns/transport';
import { codeOf } from '../../errors.js';
import { encodeQuestion } from '../questions/question.js';
import type { Way } from './way.js';

/** The result of a query: the reply and how long it took, or why there is none. */
export type Asked =
  | { readonly reply: Buffer; readonly ms: number }
  | { readonly reply: undefined; readonly failure: string };

export interface Asking {
  readonly server: ServerAddress;
  readonly name: string;
  readonly type: string;
  readonly way: Way;
  readonly timeoutMs: number;
}

/** A datagram may be lost: a silent server is asked once more. */
const UDP_TRIES = 2;
/** This machine is out of ports, files or buffers for the moment: not a failure of the server. */
const SHORTAGES = new Set(['EADDRNOTAVAIL', 'EAGAIN', 'EMFILE', 'ENFILE', 'ENOBUFS']);
const SHORTAGE_PAUSE_MS = 200;
const SHORTAGE_PAUSES = 25;

/** Asks one server one question in one way; never rejects. */
export async function ask(asking: Asking): Promise<Asked> {
  const tries = asking.way === 'tcp' ? 1 : UDP_TRIES;
  let failure = '';
  let pauses = 0;
  for (let attempt = 0; attempt < tries;) {
    const startedAt = performance.now();
    const { error, reply } = await askOnce(asking);
    if (reply !== null) return { reply, ms: performance.now() - startedAt };
    if (SHORTAGES.has(codeOf(error?.cause)) && pauses++ < SHORTAGE_PAUSES) {
      await delay(SHORTAGE_PAUSE_MS);
      continue;
    }
    failure = failureOf(error, asking.timeoutMs);
    if (error?.code !== 'timeout') break;
    attempt++;
  }
  return { reply: undefined, failure };
}

interface Exchanged {
  readonly error: ExchangeError | null;
  readonly reply: Buffer | null;
}

function askOnce({ server, name, type, way, timeoutMs }: Asking): Promise<Exchanged> {
  const query = encodeQuestion(name, type, way === 'edns');
  const protocol = way === 'tcp' ? 'tcp' : 'udp';
  return new Promise((resolve) => {
    exchange({ query, server, protocol, timeoutMs }, (error, reply) => resolve({ error, reply }));
  });
}

function failureOf(error: ExchangeError | null, timeoutMs: number): string {
  switch (error?.code) {
    case 'timeout':
      return `no reply within ${timeoutMs} ms`;
    case 'refused':
      return 'connection refused';
    case 'closed':
      return 'connection closed before the reply';
    default:
      return (error?.message ?? 'no reply').replace(/^\S+ over \w+: /, '');
  }
}
