import { parseFlags } from '@kube-dns/base';
import {
  type ApiObject,
  ClusterState,
  ClusterZone,
  composeAnswerer,
  ObjectStore,
  PROGRAM,
  QueryStatistics,
  UpstreamStatistics,
} from '@kube-dns/kubedns/internal';
import {
  listen,
  QueryForwarder,
  retryPlan,
  ServerGroup,
  UpstreamServers,
  UpstreamSockets,
} from '@kube-dns/transport';
import { RCODE, SAFE_UDP_BYTES } from '@kube-dns/wire';
import { MemoryEngine } from '../memory-engine.js';
import { CLUSTER_OBJECTS } from './cluster-objects.js';

const SERVER = { address: '192.0.2.53', port: 53 };

/** A whole kubedns but for the sockets and the API, with a small cluster. */
export interface KubednsTestbed {
  readonly engine: MemoryEngine;
  /** Gives it a query; throws what the answerer threw. */
  deliver(query: Buffer): void;
  close(): Promise<void>;
}

export async function startKubedns(): Promise<KubednsTestbed> {
  const engine = new MemoryEngine();
  const sockets = new UpstreamSockets({ engine });
  const servers = new UpstreamServers(sockets, new UpstreamStatistics());
  const group = new ServerGroup('.', [servers.at(SERVER)], 'strict');
  const forwarder = new QueryForwarder({
    maxInFlight: 10,
    plan: retryPlan(1_000),
    maxUdpBytes: SAFE_UDP_BYTES,
    unsentRcode: RCODE.SERVFAIL,
  });
  const zone = new ClusterZone({ domain: 'cluster.local.', negativeTtlSeconds: 5 });
  fill(zone);
  const answerer = composeAnswerer({
    flags: parseFlags(PROGRAM, []).values,
    version: 'dev',
    zone,
    forwarder,
    upstreams: { groupFor: () => group },
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
  const close = async () => {
    await listener.close();
    forwarder.close();
    sockets.close();
  };
  return { engine, deliver, close };
}

/** Takes objects as JSON has them: what they are is for the store to find out. */
type Taker = Pick<ObjectStore<ApiObject, never>, 'put'>;

function fill(zone: ClusterZone): void {
  const state = new ClusterState({ records: zone });
  const reject = (what: string, reason: string) => {
    throw new Error(`${what}: ${reason}`);
  };
  const services: Taker = new ObjectStore(state.services, reject);
  const slices: Taker = new ObjectStore(state.endpointSlices, reject);
  for (const service of CLUSTER_OBJECTS.services) services.put(service);
  for (const slice of CLUSTER_OBJECTS.endpointSlices) slices.put(slice);
}
