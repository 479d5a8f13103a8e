import { listen, type Answerer } from '@kube-dns/transport';
import {
  addressBytes,
  AnswerWriter,
  decodeName,
  encodeName,
  encodeRdata,
  type Query,
  RCODE,
  ROOT_NAME,
  SECTION,
  TYPE,
} from '@kube-dns/wire';
import { WORLD_SERVERS, worldAnswer, type WorldServer } from './cluster-state.js';

/** The methods of the name servers in their own process. */
export interface WorldMethods {
  /** Serves on free ports of 127.0.0.1, UDP and TCP, and returns them. */
  start(): Promise<Readonly<Record<WorldServer, number>>>;
}

const SOA = encodeRdata({
  type: 'SOA',
  name: '.',
  data: {
    mname: 'ns.test',
    rname: 'admin.test',
    serial: 1,
    refresh: 3_600,
    retry: 600,
    expire: 86_400,
    minimum: 60,
  },
});

/** One name server outside the cluster. */
class WorldAnswerer implements Answerer {
  readonly #server: WorldServer;
  readonly #writer = new AnswerWriter();

  constructor(server: WorldServer) {
    this.#server = server;
  }

  answer(query: Query, out: Uint8Array): number {
    const name = decodeName(query.name, 0);
    const { address, ttlSeconds } = worldAnswer(name, this.#server);
    const writer = this.#writer;
    writer.begin(query, out);
    if (address !== undefined && query.type === TYPE.A) {
      writer.add(SECTION.ANSWER, undefined, TYPE.A, ttlSeconds, addressBytes(address));
      return writer.finish();
    }
    if (address === undefined) writer.setRcode(RCODE.NXDOMAIN);
    const isBelowTest = name.toLowerCase().endsWith('test');
    const zone = isBelowTest ? encodeName('test') : ROOT_NAME;
    writer.add(SECTION.AUTHORITY, zone, TYPE.SOA, ttlSeconds, SOA);
    return writer.finish();
  }
}

/** All name servers outside the cluster. */
export class World implements WorldMethods {
  async start(): Promise<Readonly<Record<WorldServer, number>>> {
    const ports = await Promise.all(
      WORLD_SERVERS.map(async (server) => {
        const answerer = new WorldAnswerer(server);
        const onFailure = (error: unknown) => process.stderr.write(`world: ${String(error)}\n`);
        const { port } = await listen({ answerer, address: '127.0.0.1', port: 0, onFailure });
        return [server, port] as const;
      }),
    );
    // Each of the names is among the pairs.
    return Object.fromEntries(ports) as Record<WorldServer, number>;
  }
}
