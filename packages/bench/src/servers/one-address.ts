import { type Answerer, chooseUdpEngine, listen, type Listener } from '@kube-dns/transport';
import { AnswerWriter, encodeRdata, type Query, RCODE, SECTION, TYPE } from '@kube-dns/wire';

/** The methods of a name server in its own process. */
export interface OneAddressMethods {
  /** Serves on a free port of this address, 127.0.0.1 unless given, and returns it; the TTL is an hour unless given. */
  start(address?: string, ttlSeconds?: number): Promise<number>;
}

const ADDRESS = Uint8Array.of(198, 51, 100, 7);
const TTL_SECONDS = 3_600;
/** Names below this domain do not exist. */
const MISSING = Uint8Array.of(8, ...Buffer.from('internal'), 0);
const NEGATIVE_TTL_SECONDS = 3_600;
const SOA = encodeRdata({
  type: 'SOA',
  name: 'internal',
  data: {
    mname: 'ns.internal',
    rname: 'hostmaster.internal',
    serial: 1,
    refresh: 7_200,
    retry: 1_800,
    expire: 86_400,
    minimum: NEGATIVE_TTL_SECONDS,
  },
});
/** More than a forwarder opens that has one question on each. */
const TCP = { maxConnections: 5_000 };

/** Whether the name is in that domain. */
function isMissing({ name, nameLength }: Query): boolean {
  const start = nameLength - MISSING.length;
  if (start < 0) return false;
  for (let i = 0; i < MISSING.length; i++) if (name[start + i] !== MISSING[i]) return false;
  return true;
}

/** Answers every question for an address with the same one, but for names that do not exist, over UDP and TCP, faster than what it is the upstream of. */
export class OneAddress implements OneAddressMethods, Answerer {
  readonly #writer = new AnswerWriter();
  #listener: Listener | undefined;
  #ttlSeconds = TTL_SECONDS;

  async start(address = '127.0.0.1', ttlSeconds = TTL_SECONDS): Promise<number> {
    this.#ttlSeconds = ttlSeconds;
    const { engine } = await chooseUdpEngine('auto');
    const onFailure = () => undefined;
    const at = { address, port: 0 };
    this.#listener = await listen({ answerer: this, ...at, tcp: TCP, engine, onFailure });
    return this.#listener.port;
  }

  answer(query: Query, out: Uint8Array): number {
    this.#writer.begin(query, out);
    if (isMissing(query)) {
      this.#writer.setRcode(RCODE.NXDOMAIN);
      this.#writer.add(SECTION.AUTHORITY, MISSING, TYPE.SOA, NEGATIVE_TTL_SECONDS, SOA);
    } else if (query.type === TYPE.A) {
      this.#writer.add(SECTION.ANSWER, undefined, TYPE.A, this.#ttlSeconds, ADDRESS);
    }
    return this.#writer.finish();
  }

  close(): Promise<void> | undefined {
    return this.#listener?.close();
  }
}
