import type { AnswerSource, Answerer, Client, ReplyPath } from '@kube-dns/transport';
import { versionLabels } from '@kube-dns/resolver';
import { appendZoneVersion, type Query, type ZoneVersion } from '@kube-dns/wire';

/** What the versions of all answers come from. */
export interface VersionSource extends Pick<ZoneVersion, 'instance' | 'serial'> {
  /** The zone's name, lower-cased in wire form. */
  readonly apex: Uint8Array;
}

/**
 * Adds the zone's version (RFC 9660) to the answers of clients that ask for it: subscribers, who keep an answer only
 * if they were told no later change of its name.
 */
export class VersionedAnswerer implements Answerer {
  readonly #answerer: Answerer;
  readonly #client: VersionedClient;

  constructor(answerer: Answerer, source: VersionSource) {
    this.#answerer = answerer;
    this.#client = new VersionedClient(source);
  }

  answer(query: Query, out: Uint8Array, client: Client): number {
    if (!query.asksZoneVersion) return this.#answerer.answer(query, out, client);
    this.#client.start(query, client);
    const length = this.#answerer.answer(query, out, this.#client);
    return length > 0 ? this.#client.append(out, length) : length;
  }
}

/** The client of the current question, and the version at the time when it came: no answer is older. */
class VersionedClient implements Client, ZoneVersion {
  labelCount = 0;
  serial = 0;
  readonly #source: VersionSource;
  #client!: Client;
  #maxBytes = 0;

  constructor(source: VersionSource) {
    this.#source = source;
  }

  /** Sets the question, and its client. */
  start({ name, nameLength, maxAnswerBytes }: Query, client: Client): void {
    const { apex, serial } = this.#source;
    this.labelCount = versionLabels(name, nameLength, apex);
    this.serial = serial;
    this.#client = client;
    this.#maxBytes = maxAnswerBytes;
  }

  get instance(): Uint8Array {
    return this.#source.instance;
  }

  get address(): string {
    return this.#client.address;
  }

  get port(): number {
    return this.#client.port;
  }

  answersFrom(source: AnswerSource): void {
    this.#client.answersFrom(source);
  }

  append(out: Uint8Array, length: number): number {
    return appendZoneVersion(out, length, this.#maxBytes, this);
  }

  defer(): ReplyPath {
    const reply = this.#client.defer();
    const version = { labelCount: this.labelCount, serial: this.serial, instance: this.instance };
    const maxBytes = this.#maxBytes;
    return {
      get address() {
        return reply.address;
      },
      get port() {
        return reply.port;
      },
      send: (message, length, source, server) => {
        const versioned = appendZoneVersion(message, length, maxBytes, version);
        reply.send(message, versioned, source, server);
      },
      abandon: () => reply.abandon(),
    };
  }
}
