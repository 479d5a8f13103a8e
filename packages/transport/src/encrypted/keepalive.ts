import { EDNS_OPTION, readUint16, RecordCursor, TYPE } from '@kube-dns/wire';

const UNIT_MS = 100;
const cursor = new RecordCursor();

/** How long the server lets a connection be idle (RFC 7828 section 3.1); undefined when the reply does not say. */
export function keepaliveMs(reply: Uint8Array): number | undefined {
  cursor.reset(reply, reply.length);
  while (cursor.next()) {
    if (cursor.type !== TYPE.OPT) continue;
    for (let at = cursor.rdataStart; at + 4 <= cursor.end; at += 4 + readUint16(reply, at + 2)) {
      const isIt = readUint16(reply, at) === EDNS_OPTION.TCP_KEEPALIVE;
      if (isIt && readUint16(reply, at + 2) === 2 && at + 6 <= cursor.end) {
        return readUint16(reply, at + 4) * UNIT_MS;
      }
    }
  }
  return undefined;
}
