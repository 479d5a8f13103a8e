import { parseFlags } from '@kube-dns/daemon';
import {
  type ApiObject,
  ClusterState,
  ClusterZone,
  composeAnswerer,
  ObjectStore,
  PROGRAM,
  QueryStatistics,
} from '@kube-dns/kubedns/internal';
import { Forwarder, listen, type ServerAddress } from '@kube-dns/transport';
import { MemoryEngine } from '../memory-engine.js';
import { CLUSTER_OBJECTS } from './cluster-objects.js';

const SERVERS: readonly ServerAddress[] = [{ address: '192.0.2.53', port: 53 }];

/** Makes the reply to a query that goes upstream; null for none. */
export type Upstream = (query: Buffer) => Buffer | null;

/** A whole kubedns but for the sockets and the API, with a small cluster. */
export interface KubednsStand {
  readonly engine: MemoryEngine;
  /** Gives it a query; throws what the answerer threw. */
  deliver(query: Buffer): void;
  close(): Promise<void>;
}

/** Asks nobody: the reply is there at once. */
class ScriptedForwarder extends Forwarder {
  readonly #upstream: Upstream;

  constructor(upstream: Upstream) {
    super({ maxInFlight: 10, deadlineMs: 1_000 });
    this.#upstream = upstream;
  }

  override ask(
    query: Uint8Array,
    _isOverTcp: boolean,
    _servers: readonly ServerAddress[],
    done: (reply: Buffer | null) => void,
  ): void {
    done(this.#upstream(Buffer.from(query)));
  }
}

export async function startKubedns(upstream: Upstream): Promise<KubednsStand> {
  const engine = new MemoryEngine();
  const zone = new ClusterZone({ domain: 'cluster.local.', negativeTtlSeconds: 5 });
  fill(zone);
  const answerer = composeAnswerer({
    flags: parseFlags(PROGRAM, []).values,
    version: 'dev',
    zone,
    forwarder: new ScriptedForwarder(upstream),
    upstreams: { serversFor: () => SERVERS },
    federations: { isActive: false, find: () => undefined, locality: undefined },
    statistics: new QueryStatistics(),
    isSynced: () => true,
  });
  let failure: unknown;
  const listener = await listen({
    answerer,
    engine,
    address: '127.0.0.1',
    port: 0,
    onFailure: (error) => (failure = error),
  });
  const deliver = (query: Buffer) => {
    engine.deliver(query);
    const thrown = failure;
    failure = undefined;
    if (thrown !== undefined) throw thrown as Error;
  };
  return { engine, deliver, close: () => listener.close() };
}

/** Takes objects as JSON has them: what they are is for the store to find out. */
type Taker = Pick<ObjectStore<ApiObject, never>, 'put'>;

function fill(zone: ClusterZone): void {
  const state = new ClusterState({ keeper: zone });
  const reject = (what: string, reason: string) => {
    throw new Error(`${what}: ${reason}`);
  };
  const services: Taker = new ObjectStore(state.services, reject);
  const slices: Taker = new ObjectStore(state.endpointSlices, reject);
  for (const service of CLUSTER_OBJECTS.services) services.put(service);
  for (const slice of CLUSTER_OBJECTS.endpointSlices) slices.put(slice);
}
