import { errorText } from '@kube-dns/daemon';
import { GarbledStreamError } from '../errors.js';

const NEWLINE = 0x0a;

/** More than any object of the API may have (etcd stops at 1.5 MiB), so a larger line is not one. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;

/**
 * Cuts a byte stream at its newlines and parses each line; throws a GarbledStreamError when a line is no
 * JSON or endless.
 * What stands behind the last newline was cut off and is no line.
 */
export async function* readJsonLines(
  body: AsyncIterable<Buffer>,
  maxLineBytes = MAX_LINE_BYTES,
): AsyncGenerator {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  for await (const chunk of body) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      pending.push(chunk.subarray(start, end));
      const line = pending.length === 1 ? pending[0]! : Buffer.concat(pending);
      pending = [];
      pendingBytes = 0;
      start = end + 1;
      if (line.length > 0) yield parseLine(line);
    }
    if (start === chunk.length) continue;
    pending.push(chunk.subarray(start));
    pendingBytes += chunk.length - start;
    if (pendingBytes > maxLineBytes) {
      throw new GarbledStreamError(`a line exceeds ${maxLineBytes} bytes`);
    }
  }
}

function parseLine(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8'));
  } catch (cause) {
    throw new GarbledStreamError(`a line is no JSON: ${errorText(cause)}`, { cause });
  }
}
