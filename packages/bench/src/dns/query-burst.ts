import type { Socket } from 'node:dgram';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { connectUdp, monotonicMs, sendQuietly } from '@kube-dns/testkit';
import { encodeQuery, RCODE, RCODE_MASK, writeUint16 } from '@kube-dns/wire';
import { messageId } from './expectation.js';

const LOCAL_ADDRESS = 1;

/** Datagrams that the full sockets of a port dropped, from the text of `/proc/net/udp`. */
export function parseDrops(table: string, port: number): number {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  let drops = 0;
  for (const line of table.split('\n')) {
    const fields = line.trim().split(/\s+/);
    if (fields[LOCAL_ADDRESS]?.endsWith(wanted) === true) drops += Number(fields.at(-1));
  }
  return drops;
}

/** The same for this machine, now; without sockets that were closed. */
export function droppedAt(port: number): number {
  return parseDrops(readFileSync('/proc/net/udp', 'utf8'), port);
}

/** The result of many queries in flight at the same time. */
interface BurstResult {
  readonly sent: number;
  readonly right: number;
  /** Answers with another rcode than NOERROR. */
  readonly wrong: number;
  readonly unanswered: number;
  /** Answers that the client's own full socket dropped. */
  readonly droppedHere: number;
}

/** The methods of a burst in its own process. */
export interface QueryBurstMethods {
  /** Asks for `count` names below a domain in one burst, and waits for the answers. */
  run(port: number, count: number, domain: string, timeoutMs: number): Promise<BurstResult>;
}

/** This many are sent together, every millisecond: no more than the buffer of any receiver holds. */
const BATCH = 20;
const STEP_MS = 1;
const WAIT_STEP_MS = 5;
const QR = 0x80;

/** Sends one query for each of many names and counts the answers. */
export class QueryBurst implements QueryBurstMethods {
  readonly #nowMs: () => number;

  constructor(nowMs: () => number = monotonicMs) {
    this.#nowMs = nowMs;
  }

  async run(port: number, count: number, domain: string, timeoutMs: number): Promise<BurstResult> {
    const isOpen = new Array<boolean>(count).fill(true);
    let right = 0;
    let wrong = 0;
    const socket = await connectUdp(port, (message) => {
      const id = messageId(message);
      if (isOpen[id] !== true || (message[2]! & QR) === 0) return;
      isOpen[id] = false;
      if ((message[3]! & RCODE_MASK) === RCODE.NOERROR) right++;
      else wrong++;
    });
    try {
      await sendAll(socket, count, domain);
      const endMs = this.#nowMs() + timeoutMs;
      while (right + wrong < count && this.#nowMs() < endMs) await delay(WAIT_STEP_MS);
      const unanswered = count - right - wrong;
      return {
        sent: count,
        right,
        wrong,
        unanswered,
        droppedHere: droppedAt(socket.address().port),
      };
    } finally {
      socket.close();
    }
  }
}

async function sendAll(socket: Socket, count: number, domain: string): Promise<void> {
  for (let id = 0; id < count; id++) {
    const query = encodeQuery({ id: 0, name: `q${id}.${domain}`, type: 'A' });
    writeUint16(query, 0, id);
    sendQuietly(socket, query);
    if (id % BATCH === BATCH - 1) await delay(STEP_MS);
  }
}
