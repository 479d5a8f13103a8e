import {
  addressText,
  AnswerWriter,
  buildQuery,
  SAFE_UDP_BYTES,
  decodeName,
  encodeKey,
  lowerCaseByte,
  Query,
  RecordCursor,
  TYPE,
} from '@kube-dns/wire';
import type { ClusterZone } from '../zone/cluster-zone.js';
import { ZoneAnswerer } from './zone-answerer.js';

/** What a name of the zone leads to now. */
export interface ZoneHost {
  /** Sorted, IPv4 first; as many as a message over UDP has. */
  readonly addresses: readonly string[];
  /** The name outside of the zone that its CNAMEs end at. */
  readonly target: string | undefined;
  /** The services that this depends on: `namespace/name`. */
  readonly services: readonly string[];
}

/** Maximum CNAMEs from a name to its addresses. */
const MAX_LINKS = 8;

/** Resolves names of the zone for this program itself, by the same answers that clients get. */
export class ZoneHosts {
  readonly #zone: ClusterZone;
  #madeAnswerer: ZoneAnswerer | undefined;
  readonly #writer = new AnswerWriter();

  constructor(zone: ClusterZone) {
    this.#zone = zone;
  }

  /** Made when it is needed, which is seldom: it has 0.2 MiB of memory. */
  get #answerer(): ZoneAnswerer {
    const zone = this.#zone;
    return (this.#madeAnswerer ??= new ZoneAnswerer({
      zone,
      ttlSeconds: 0,
      negativeTtlSeconds: 0,
    }));
  }

  /** Resolves a name of the zone, from what is known of the cluster now. */
  resolve(host: string): ZoneHost {
    const services: string[] = [];
    let name = encodeKey(host);
    for (let links = 0; links < MAX_LINKS; links++) {
      if (!this.#answerer.contains(name, name.length)) {
        return { addresses: [], target: decodeName(name), services };
      }
      services.push(...this.#servicesOf(name));
      this.#answerer.read(name, name.length);
      const next = this.#answerer.targetOf(TYPE.A);
      if (next === undefined) {
        const addresses = [TYPE.A, TYPE.AAAA].flatMap((type) => this.#addressesOf(name, type));
        return { addresses, target: undefined, services };
      }
      name = next.map(lowerCaseByte);
    }
    return { addresses: [], target: undefined, services };
  }

  #addressesOf(name: Uint8Array, type: number): string[] {
    const bytes = buildQuery(name, type);
    const query = new Query();
    query.read(bytes, bytes.length, false, SAFE_UDP_BYTES);
    const out = new Uint8Array(SAFE_UDP_BYTES);
    this.#answerer.read(query.name, query.nameLength);
    this.#writer.begin(query, out);
    this.#answerer.answer(query, this.#writer);
    const cursor = new RecordCursor().reset(out, this.#writer.finish());
    const addresses: string[] = [];
    while (cursor.next()) {
      if (cursor.type === type) {
        addresses.push(addressText(out.subarray(cursor.rdataStart, cursor.end)));
      }
    }
    return addresses.sort();
  }

  /** The service of a name below `svc.<zone>`: its last two labels there. */
  #servicesOf(name: Uint8Array): string[] {
    const { services } = this.#zone;
    if (name.length <= services.length) return [];
    const below = decodeName(name).slice(0, -decodeName(services).length - 1);
    const labels = below.split('.').slice(-2);
    return labels.length === 2 ? [`${labels[1]!}/${labels[0]!}`] : [];
  }
}
