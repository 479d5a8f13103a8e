import { type PublishedZones, Publisher } from '@kube-dns/push';
import { listen, type Listener } from '@kube-dns/transport';

import {
  AnswerWriter,
  appendZoneVersion,
  decodeName,
  encodeKey,
  encodeRdata,
  type Query,
  RCODE,
  SECTION,
  TYPE,
} from '@kube-dns/wire';

const SOA = {
  mname: 'ns.zone.test',
  rname: 'root.zone.test',
  serial: 1,
  refresh: 2,
  retry: 3,
  expire: 4,
} as const;

/** A server of the zone `zone.test` that tells which of its names change, as kubedns does. */
export class ZonePublisher implements PublishedZones {
  readonly apex = encodeKey('zone.test');
  readonly isKnown = true;
  readonly #publisher: Publisher;
  /** What it was asked, without probes. */
  readonly asked: string[] = [];
  readonly #addresses = new Map<string, string>();
  readonly #ttl: number;
  readonly #writer = new AnswerWriter();
  #listener!: Listener;

  private constructor(ttl: number, limit: number) {
    this.#ttl = ttl;
    const log = { warn: () => undefined };
    this.#publisher = new Publisher({ zones: this, reasons: [], rules: { limit, log } });
  }

  /** Port 0 takes a free one; the TTL is in seconds, the limit that of subscribers. */
  static async start({ port = 0, ttl = 30, limit = 10 } = {}): Promise<ZonePublisher> {
    const publisher = new ZonePublisher(ttl, limit);
    publisher.#listener = await listen({
      answerer: { answer: (query, out) => publisher.#answer(query, out) },
      address: '127.0.0.1',
      port,
      sessions: publisher.#publisher,
      onFailure: (error) => {
        throw error;
      },
    });
    return publisher;
  }

  get port(): number {
    return this.#listener.port;
  }

  /** `--server` for its zone. */
  get option(): string {
    return `--server=/zone.test/127.0.0.1#${this.port}`;
  }

  rcodeFor(): number {
    return RCODE.NOERROR;
  }

  /** Changes the address of a name, or removes it, and tells that. */
  set(name: string, address: string | undefined): void {
    if (address === undefined) this.#addresses.delete(name);
    else this.#addresses.set(name, address);
    this.#publisher.feed.add(encodeKey(name));
  }

  async close(): Promise<void> {
    this.#publisher.close();
    await this.#listener.close();
  }

  #answer(query: Query, out: Uint8Array): number {
    const name = decodeName(query.name);
    if (name !== '.') this.asked.push(name);
    const writer = this.#writer;
    writer.begin(query, out);
    writer.setAuthoritative();
    const data = this.#addresses.get(name);
    if (data === undefined) {
      writer.setRcode(RCODE.NXDOMAIN);
      const soa = { ...SOA, minimum: this.#ttl };
      const rdata = encodeRdata({ type: 'SOA', name: '.', data: soa });
      writer.add(SECTION.AUTHORITY, this.apex, TYPE.SOA, this.#ttl, rdata);
    } else if (query.type === TYPE.A) {
      const rdata = encodeRdata({ type: 'A', name: '.', data });
      writer.add(SECTION.ANSWER, undefined, TYPE.A, this.#ttl, rdata);
    }
    const length = writer.finish();
    if (!query.asksZoneVersion) return length;
    const { instance, serial } = this.#publisher;
    const version = { labelCount: 2, instance, serial };
    return appendZoneVersion(out, length, query.maxAnswerBytes, version);
  }
}
