// The parsers and the answerer of this container, which packages/proofs tests with hostile bytes and packages/bench measures, and the tables of its README.
export { composeAnswerer } from './answer/kubedns-answerer.js';
export { QueryStatistics } from './answer/query-statistics.js';
export { ClusterState } from './cluster/cluster-state.js';
export { ItemReader } from './cluster/item-reader.js';
export { LineReader } from './cluster/json-lines.js';
export { type ApiObject, ObjectStore } from './cluster/object-store.js';
export { parseRetryAfter } from './cluster/retry-after.js';
export { readEvent } from './cluster/watch.js';
export { Explainer } from './explain/explainer.js';
export { PROGRAM } from './config/flags.js';
export { Upstreams } from './config/upstreams.js';
export { ApiError, StreamError } from './errors.js';
export { corednsFamilies } from './metrics/coredns-families.js';
export { metricFamilies } from './metrics/metric-families.js';
export { UpstreamStatistics } from './metrics/upstream-statistics.js';
export { NotifyMessages } from './notify/notify-messages.js';
export { ClusterZone } from './zone/cluster-zone.js';
