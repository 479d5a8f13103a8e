import { createSocket, type RemoteInfo } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { frameMessage, Frames, questionEnd as questionEndOf } from '@kube-dns/testkit';
import { HEADER_BYTES, RCODE, TYPE, writeUint16, writeUint32 } from '@kube-dns/wire';
import { BOMB_REPLIES, bombReply, truncatedReply } from './messages.js';

/** The methods of a name server in its own process. */
export interface HostileServerMethods {
  /** Serves over UDP and TCP on a port of 127.0.0.1 and returns it. */
  start(): Promise<number>;
  /** Opens a port of 127.0.0.1 where queries are received and never answered, and returns it. */
  startSilent(): Promise<number>;
}

const REPLY_FLAGS = 0x8180;
const SLOW_MS = 2_000;
const TTL_SECONDS = 3_600;
const MAX_UDP_BYTES = 4_096;
const MAX_TCP_BYTES = 0xffff;
const RECEIVE_BYTES = 4 * 1024 * 1024;
const ADDRESS = Buffer.from([198, 51, 100, 8]);

/** The last label but one, `missing` of `x.missing.example`. */
function domainOf(query: Buffer): string {
  const labels: string[] = [];
  for (let at = HEADER_BYTES; query[at] !== 0; at += query[at]! + 1) {
    labels.push(query.toString('latin1', at + 1, at + 1 + query[at]!));
  }
  return labels.at(-2)?.toLowerCase() ?? '';
}

function soaData(): Buffer {
  const data = Buffer.alloc(22);
  [1, 3_600, 600, 86_400, 60].forEach((value, i) => writeUint32(data, 2 + 4 * i, value));
  return data;
}

const SOA = soaData();

function answer(query: Buffer, questionEnd: number, exists: boolean): Buffer {
  const [type, data] = exists ? [TYPE.A, ADDRESS] : [TYPE.SOA, SOA];
  const fixed = Buffer.alloc(12);
  writeUint16(fixed, 0, 0xc000 | HEADER_BYTES);
  writeUint16(fixed, 2, type);
  writeUint16(fixed, 4, 1);
  writeUint32(fixed, 6, TTL_SECONDS);
  writeUint16(fixed, 10, data.length);
  const message = Buffer.concat([query.subarray(0, questionEnd), fixed, data]);
  writeUint16(message, 2, REPLY_FLAGS | (exists ? RCODE.NOERROR : RCODE.NXDOMAIN));
  message.fill(0, 6, HEADER_BYTES);
  writeUint16(message, exists ? 6 : 8, 1);
  return message;
}

/** The upstream of the attacked dnsmasq: the domain of the question selects the answer, see `DOMAINS`. */
export class HostileServer implements HostileServerMethods {
  #bombs = 0;

  async start(): Promise<number> {
    const server = createServer((socket) => this.#serve(socket)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const socket = createSocket({ type: 'udp4', recvBufferSize: RECEIVE_BYTES });
    socket.on('error', () => undefined);
    socket.on('message', (query, peer) => {
      const send = (message: Buffer) => this.#send(socket, message, peer);
      this.#take(query, send);
    });
    socket.bind(port, '127.0.0.1');
    await once(socket, 'listening');
    return port;
  }

  async startSilent(): Promise<number> {
    const socket = createSocket('udp4');
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    return socket.address().port;
  }

  #send(socket: ReturnType<typeof createSocket>, message: Buffer, peer: RemoteInfo): void {
    socket.send(message, peer.port, peer.address, () => undefined);
  }

  #take(query: Buffer, send: (message: Buffer) => void): void {
    const end = questionEndOf(query);
    if (end < 0) return;
    const domain = domainOf(query);
    if (domain === 'bomb') {
      const turn = this.#bombs++ % (BOMB_REPLIES + 1);
      if (turn === BOMB_REPLIES) send(truncatedReply(query, end));
      else send(bombReply(query, end, turn, MAX_UDP_BYTES));
      return;
    }
    const message = answer(query, end, domain !== 'missing');
    if (domain === 'slow') setTimeout(() => send(message), SLOW_MS);
    else send(message);
  }

  /** Every answer over TCP is a bomb: only the query for a bomb is repeated there, after a truncated one. */
  #serve(socket: Socket): void {
    const frames = new Frames();
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk) => {
      for (const query of frames.push(chunk)) {
        const end = questionEndOf(query);
        if (end >= 0)
          socket.write(frameMessage(bombReply(query, end, this.#bombs++, MAX_TCP_BYTES)));
      }
    });
  }
}
