import { MeasureError } from '../errors.js';
import type { RunningProgram } from '../process/running-program.js';
import { becomesTrue } from '../until.js';
import { connectUdp, sendQuietly } from './udp-socket.js';

const STEP_MS = 20;
const RCODE_MASK = 0x0f;
const ANSWER_COUNT_OFFSET = 6;

/** Queries a new program until an answer has a record. Throws a MeasureError after `limitMs`. */
export async function awaitRecord(
  server: RunningProgram,
  port: number,
  query: Buffer,
  limitMs: number,
): Promise<void> {
  const seen = { hasRecord: false };
  const socket = await connectUdp(port, (message) => {
    const isError = message.length < query.length || (message[3]! & RCODE_MASK) !== 0;
    if (!isError && message.readUInt16BE(ANSWER_COUNT_OFFSET) > 0) seen.hasRecord = true;
  });
  const isAnswered = () => {
    if (seen.hasRecord) return true;
    server.check();
    sendQuietly(socket, query);
    return false;
  };
  try {
    if (await becomesTrue(isAnswered, { limitMs, stepMs: STEP_MS })) return;
    throw new MeasureError(`${server.name} does not answer within ${limitMs / 1_000} s`);
  } finally {
    socket.close();
  }
}
