import { ScriptedNameServer } from '@kube-dns/testkit';

/** One answer record of the question's name. */
export interface RecordBytes {
  readonly type: number;
  readonly class?: number;
  readonly rdata: Uint8Array;
}

export interface Asked {
  readonly name: string;
  readonly type: string;
}

/** Chooses the records of the answer, or whole messages; null sends none. */
export type Respond = (
  asked: Asked,
  query: Buffer,
) => readonly RecordBytes[] | readonly Uint8Array[] | null;

const IN = 1;
const CH = 3;
const TYPE_A = 1;
const TYPE_TXT = 16;
const QR_RD = 0x8100;
const POINTER_TO_QUESTION = 0xc00c;

export const addressRecord: RecordBytes = { type: TYPE_A, rdata: Uint8Array.of(10, 0, 0, 1) };

/** A CHAOS TXT record of these strings, as dnsmasq answers with its statistics. */
export function txtRecord(...strings: string[]): RecordBytes {
  const parts = strings.map((text) => Buffer.from(`\0${text}`));
  for (const part of parts) part[0] = part.length - 1;
  return { type: TYPE_TXT, class: CH, rdata: Buffer.concat(parts) };
}

/** A DNS server on loopback whose answers a test chooses. */
export class Responder {
  respond: Respond;
  #server: ScriptedNameServer | undefined;

  constructor(respond: Respond) {
    this.respond = respond;
  }

  async start(): Promise<this> {
    this.#server = await ScriptedNameServer.start(({ query, question }) => {
      const reply = this.respond(question, query);
      return reply === null || isMessages(reply) ? reply : [renderReply(query, reply)];
    });
    return this;
  }

  get asked(): Asked[] {
    return this.#server!.requests.map(({ question: { name, type } }) => ({ name, type }));
  }

  get port(): number {
    return this.#server!.port;
  }

  get server(): { host: string; port: number } {
    return { host: '127.0.0.1', port: this.port };
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }
}

function isMessages(
  reply: readonly RecordBytes[] | readonly Uint8Array[],
): reply is readonly Uint8Array[] {
  return reply[0] instanceof Uint8Array;
}

/** The query as a reply, with the records after its question. */
export function renderReply(query: Buffer, records: readonly RecordBytes[]): Buffer {
  const head = Buffer.from(query);
  head.writeUInt16BE(QR_RD, 2);
  head.writeUInt16BE(records.length, 6);
  const rendered = records.map(({ type, class: recordClass = IN, rdata }) => {
    const fixed = Buffer.alloc(12);
    fixed.writeUInt16BE(POINTER_TO_QUESTION, 0);
    fixed.writeUInt16BE(type, 2);
    fixed.writeUInt16BE(recordClass, 4);
    fixed.writeUInt16BE(rdata.length, 10);
    return Buffer.concat([fixed, rdata]);
  });
  return Buffer.concat([head, ...rendered]);
}
