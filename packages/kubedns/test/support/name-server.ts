import { listen, type Listener, NO_ANSWER_YET } from '@kube-dns/transport';
import {
  AnswerWriter,
  decodeName,
  encodeName,
  encodeRdata,
  type Query,
  RCODE,
  SECTION,
  TYPE,
} from '@kube-dns/wire';

/** A record as dns-packet takes it. */
export type RdataFields = Parameters<typeof encodeRdata>[0];

/** What a name server of a test says to one question. */
export interface Saying {
  readonly rcode?: keyof typeof RCODE;
  readonly answers?: readonly RdataFields[];
  readonly authorities?: readonly RdataFields[];
}

/** A name server on loopback that knows what it is told, is silent at will, and counts. */
export class NameServer {
  /** Questions as they came, `name TYPE` with the name's case kept. */
  readonly asked: string[] = [];
  isSilent = false;
  readonly #sayings = new Map<string, Saying>();
  readonly #writer = new AnswerWriter();
  #listener: Listener | undefined;

  /** What to say to a question, by `name TYPE` in lower and upper case; NXDOMAIN otherwise. */
  says(question: string, saying: Saying): void {
    this.#sayings.set(question, saying);
  }

  get port(): number {
    return this.#listener!.port;
  }

  /** As the flag `nameservers` has it. */
  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  async start(): Promise<this> {
    this.#listener = await listen({
      answerer: { answer: (query, out) => this.#answer(query, out) },
      address: '127.0.0.1',
      port: 0,
      onFailure: (error) => {
        throw error;
      },
    });
    return this;
  }

  async close(): Promise<void> {
    await this.#listener?.close();
  }

  #answer(query: Query, out: Uint8Array): number {
    const type = Object.entries(TYPE).find(([, number]) => number === query.type)?.[0] ?? '';
    const nameEnd = query.questionEnd - 4;
    this.asked.push(`${decodeName(query.bytes.subarray(0, nameEnd), 12)} ${type}`);
    if (this.isSilent) return NO_ANSWER_YET;
    const key = `${decodeName(query.name.subarray(0, query.nameLength))} ${type}`;
    const {
      rcode,
      answers = [],
      authorities = [],
    } = this.#sayings.get(key) ?? { rcode: 'NXDOMAIN' };
    this.#writer.begin(query, out);
    this.#writer.setRcode(RCODE[rcode ?? 'NOERROR']);
    for (const record of answers) this.#add(SECTION.ANSWER, record);
    for (const record of authorities) this.#add(SECTION.AUTHORITY, record);
    return this.#writer.finish();
  }

  #add(section: (typeof SECTION)[keyof typeof SECTION], record: RdataFields): void {
    const ttl = 'ttl' in record ? (record.ttl ?? 0) : 0;
    const type = TYPE[record.type as keyof typeof TYPE];
    this.#writer.add(section, encodeName(record.name), type, ttl, encodeRdata(record));
  }
}
