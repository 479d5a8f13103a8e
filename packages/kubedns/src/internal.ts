// The parsers and the answerer of this container, which packages/proofs tests with hostile bytes and packages/bench measures, and the tables of its README.
export { composeAnswerer } from './answer/kubedns-answerer.js';
export { QueryStatistics } from './answer/query-statistics.js';
export { allStores, ClusterState } from './watch/projections.js';
export { ExternalZone } from './outside/external-zone.js';
export { RouteNames } from './outside/route-names.js';
export { ItemReader, LineReader } from './watch/json-stream.js';
export { readClusterHeader, snapshotLine, SnapshotLines } from './watch/cluster-snapshot.js';
export { type ApiObject, ObjectStore } from './watch/store.js';
export { parseRetryAfter } from './watch/api-client.js';
export { readEvent } from './watch/list-watch.js';
export { Explainer } from './explain/explainer.js';
export { PROGRAM } from './config/flags.js';
export { Upstreams } from './config/upstreams.js';
export { ApiError, StreamError } from './errors.js';
export { corednsFamilies, metricFamilies } from './metrics/metric-families.js';
export { UpstreamStatistics } from './metrics/upstream-statistics.js';
export { NotifyMessages } from '@kube-dns/push';
export { ClusterZone } from './zone/cluster-zone.js';
