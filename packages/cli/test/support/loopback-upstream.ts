import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';

const HEADER_BYTES = 12;

/** A name server on loopback that knows 192.0.2.1 for all, so that no query leaves the machine. */
export class LoopbackUpstream {
  readonly port: number;
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.port = socket.address().port;
  }

  static async start(): Promise<LoopbackUpstream> {
    const socket = createSocket('udp4');
    socket.on('message', (query, peer) => {
      socket.send(answerWithAddress(query), peer.port, peer.address);
    });
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    return new LoopbackUpstream(socket);
  }

  close(): void {
    this.#socket.close();
  }
}

/** A response with the one address 192.0.2.1, TTL 60, whatever was asked. */
function answerWithAddress(query: Buffer): Buffer {
  const questionEnd = query.indexOf(0, HEADER_BYTES) + 5;
  const record = Buffer.from('c00c00010001' + '0000003c' + '0004' + 'c0000201', 'hex');
  const answer = Buffer.concat([query.subarray(0, questionEnd), record]);
  answer.writeUInt16BE(0x8180, 2);
  answer.writeUInt16BE(1, 6);
  answer.writeUInt32BE(0, 8);
  return answer;
}
