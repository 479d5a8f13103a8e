import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server, type Socket as TcpSocket } from 'node:net';
import { frameMessage } from '@kube-dns/transport';
import {
  decodeName,
  encodeName,
  encodeRdata,
  FLAG,
  HEADER_BYTES,
  nameBytes,
  RCODE,
  readUint16,
} from '@kube-dns/wire';
import { typeNumberOf } from '../../../src/compare/questions/question.js';

type Rdata = Parameters<typeof encodeRdata>[0];

/** A record of an answer; its owner is the question's name unless given. */
export interface ScriptedRecord {
  readonly owner?: string;
  readonly type: 'A' | 'AAAA' | 'CNAME' | 'PTR' | 'SOA' | 'SRV' | 'TXT';
  readonly ttl?: number;
  readonly data: unknown;
}

/** What a server says; all flags but QR and RD are off unless given, and AA and RA are on. */
export interface ScriptedReply {
  readonly rcode?: keyof typeof RCODE;
  readonly isAuthoritative?: boolean;
  readonly isTruncated?: boolean;
  readonly answers?: readonly ScriptedRecord[];
  readonly authorities?: readonly ScriptedRecord[];
  readonly additionals?: readonly ScriptedRecord[];
  /** Whether OPT is left out although the query has one. */
  readonly hasNoOpt?: boolean;
}

export interface ScriptedQuestion {
  readonly name: string;
  readonly type: number;
  readonly isOverTcp: boolean;
  readonly hasEdns: boolean;
}

/** What to say to a question; undefined is silence. */
export type Script = (question: ScriptedQuestion) => ScriptedReply | undefined;

const OPT = Buffer.from('00002904d0000000000000', 'hex');
const DEFAULT_TTL = 30;

/** A name server on loopback, over UDP and TCP, that says what a script tells it. */
export class ScriptedServer {
  readonly #script: Script;
  readonly #udp: Socket = createSocket('udp4');
  readonly #tcp: Server;
  readonly #connections = new Set<TcpSocket>();
  /** All that was asked. */
  asked = 0;

  private constructor(script: Script) {
    this.#script = script;
    this.#udp.on('message', (query, peer) => {
      const reply = this.#answer(query, false);
      if (reply !== undefined) this.#udp.send(reply, peer.port, peer.address);
    });
    this.#tcp = createServer((connection) => this.#serve(connection));
  }

  static async start(script: Script): Promise<ScriptedServer> {
    for (;;) {
      const server = new ScriptedServer(script);
      server.#udp.bind(0, '127.0.0.1');
      await once(server.#udp, 'listening');
      server.#tcp.listen(server.port, '127.0.0.1');
      try {
        await once(server.#tcp, 'listening');
        return server;
      } catch {
        server.#udp.close(); // somebody has the port over TCP: another one
      }
    }
  }

  get port(): number {
    return this.#udp.address().port;
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  async close(): Promise<void> {
    for (const connection of this.#connections) connection.destroy();
    const closed = once(this.#udp, 'close');
    this.#udp.close();
    this.#tcp.close();
    await Promise.all([closed, once(this.#tcp, 'close')]);
  }

  #serve(connection: TcpSocket): void {
    this.#connections.add(connection);
    connection.on('close', () => this.#connections.delete(connection));
    connection.on('error', () => undefined);
    connection.on('data', (frame) => {
      const reply = this.#answer(frame.subarray(2), true);
      if (reply !== undefined) connection.write(frameMessage(reply));
    });
  }

  #answer(query: Buffer, isOverTcp: boolean): Buffer | undefined {
    this.asked++;
    const questionEnd = HEADER_BYTES + nameBytes(query.subarray(HEADER_BYTES)) + 4;
    const name = decodeName(query, HEADER_BYTES);
    const type = readUint16(query, questionEnd - 4);
    const hasEdns = readUint16(query, 10) > 0;
    const reply = this.#script({ name, type, isOverTcp, hasEdns });
    if (reply === undefined) return undefined;
    const { answers = [], authorities = [], additionals = [] } = reply;
    const header = Buffer.alloc(HEADER_BYTES);
    const hasOpt = hasEdns && reply.hasNoOpt !== true;
    header.writeUInt16BE(readUint16(query, 0), 0);
    header.writeUInt16BE(flagsOf(reply), 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(answers.length, 6);
    header.writeUInt16BE(authorities.length, 8);
    header.writeUInt16BE(additionals.length + (hasOpt ? 1 : 0), 10);
    const records = [...answers, ...authorities, ...additionals].map(recordBytes);
    const question = query.subarray(HEADER_BYTES, questionEnd);
    return Buffer.concat([header, question, ...records, hasOpt ? OPT : Buffer.alloc(0)]);
  }
}

function flagsOf({ rcode = 'NOERROR', isAuthoritative = true, isTruncated }: ScriptedReply) {
  return (
    FLAG.QR |
    FLAG.RD |
    FLAG.RA |
    (isAuthoritative ? FLAG.AA : 0) |
    (isTruncated === true ? FLAG.TC : 0) |
    RCODE[rcode]
  );
}

function recordBytes({ owner, type, ttl = DEFAULT_TTL, data }: ScriptedRecord): Buffer {
  const rdata = encodeRdata({ name: '.', type, data } as Rdata);
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(typeNumberOf(type)!, 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt32BE(ttl, 4);
  fixed.writeUInt16BE(rdata.length, 8);
  const name = owner === undefined ? Buffer.from('c00c', 'hex') : encodeName(owner);
  return Buffer.concat([name, fixed, rdata]);
}
