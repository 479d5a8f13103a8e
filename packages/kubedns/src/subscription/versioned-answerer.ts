import type { Answerer, Client, ReplyPath } from '@kube-dns/transport';
import { appendZoneVersion, type Query, suffixOffset, type ZoneVersion } from '@kube-dns/wire';

/** Labels of in-addr.arpa and ip6.arpa. */
const REVERSE_ZONE_LABELS = 2;

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
  readonly #apexLabels: number;
  #client!: Client;
  #maxBytes = 0;

  constructor(source: VersionSource) {
    this.#source = source;
    this.#apexLabels = countLabels(source.apex);
  }

  /** Sets the question, and its client. */
  start({ name, nameLength, maxAnswerBytes }: Query, client: Client): void {
    const { apex, serial } = this.#source;
    const isOfZone = suffixOffset(name, nameLength, apex) >= 0;
    this.labelCount = isOfZone ? this.#apexLabels : REVERSE_ZONE_LABELS;
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
      send: (message, length) => {
        reply.send(message, appendZoneVersion(message, length, maxBytes, version));
      },
      abandon: () => reply.abandon(),
    };
  }
}

function countLabels(name: Uint8Array): number {
  let count = 0;
  for (let at = 0; name[at]! > 0; at += 1 + name[at]!) count++;
  return count;
}
