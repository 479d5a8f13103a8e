import { setTimeout as delay } from 'node:timers/promises';
import { connectUdp, sendQuietly } from '../dns/udp-socket.js';
import { MeasureError } from '../errors.js';
import type { ServerProcess } from '../kubedns/server-process.js';

const STEP_MS = 20;
const RCODE_MASK = 0x0f;
const ANSWER_COUNT_OFFSET = 6;

/** Asks a server that was just started until an answer holds a record. Throws a MeasureError. */
export async function awaitRecord(
  {
    what,
    server,
    port,
  }: { readonly what: string; readonly server: ServerProcess; readonly port: number },
  query: Buffer,
  limitMs: number,
): Promise<void> {
  const seen = { hasRecord: false };
  const socket = await connectUdp(port, (message) => {
    const isError = message.length < query.length || (message[3]! & RCODE_MASK) !== 0;
    if (!isError && message.readUInt16BE(ANSWER_COUNT_OFFSET) > 0) seen.hasRecord = true;
  });
  try {
    const endMs = performance.now() + limitMs;
    while (!seen.hasRecord) {
      server.check();
      if (performance.now() > endMs) {
        throw new MeasureError(`${what} does not answer within ${limitMs / 1_000} s`);
      }
      sendQuietly(socket, query);
      await delay(STEP_MS);
    }
  } finally {
    socket.close();
  }
}
