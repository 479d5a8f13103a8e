import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';

const HEADER_BYTES = 12;

/** The label `invalid`, which no name has that exists (RFC 6761 section 6.4). */
const INVALID = Buffer.from('\x07invalid\0');

/**
 * A name server on loopback, so that no query leaves the machine. It knows 192.0.2.1 for all names but
 * those below `invalid`, which do not exist.
 */
export class LoopbackUpstream {
  readonly port: number;
  readonly #socket: Socket;
  #isMute = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.port = socket.address().port;
  }

  static async start(): Promise<LoopbackUpstream> {
    const socket = createSocket('udp4');
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    const upstream = new LoopbackUpstream(socket);
    socket.on('message', (query, peer) => {
      if (!upstream.#isMute) socket.send(answerTo(query), peer.port, peer.address);
    });
    return upstream;
  }

  /** From now on no query is answered. */
  mute(): void {
    this.#isMute = true;
  }

  close(): void {
    this.#socket.close();
  }
}

/** A response with the one address 192.0.2.1, TTL 60, whatever was asked; or NXDOMAIN. */
function answerTo(query: Buffer): Buffer {
  const nameEnd = query.indexOf(0, HEADER_BYTES) + 1;
  const questionEnd = nameEnd + 4;
  if (query.subarray(HEADER_BYTES, nameEnd).indexOf(INVALID) >= 0) {
    const denial = Buffer.from(query.subarray(0, questionEnd));
    denial.writeUInt16BE(0x8183, 2);
    denial.writeUInt32BE(0, 8);
    return denial;
  }
  const record = Buffer.from('c00c00010001' + '0000003c' + '0004' + 'c0000201', 'hex');
  const answer = Buffer.concat([query.subarray(0, questionEnd), record]);
  answer.writeUInt16BE(0x8180, 2);
  answer.writeUInt16BE(1, 6);
  answer.writeUInt32BE(0, 8);
  return answer;
}
