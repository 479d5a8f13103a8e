// The parsers of the kubedns container, which has no exports: it is a program.
export { composeAnswerer } from '../../../../kubedns/dist/answer/composition.js';
export { QueryStatistics } from '../../../../kubedns/dist/answer/query-statistics.js';
export { ClusterState } from '../../../../kubedns/dist/cluster/cluster-state.js';
export { ItemReader } from '../../../../kubedns/dist/cluster/item-reader.js';
export { LineReader } from '../../../../kubedns/dist/cluster/json-lines.js';
export { type ApiObject, ObjectStore } from '../../../../kubedns/dist/cluster/object-store.js';
export { parseRetryAfter } from '../../../../kubedns/dist/cluster/retry-after.js';
export { readEvent } from '../../../../kubedns/dist/cluster/watch.js';
export { PROGRAM } from '../../../../kubedns/dist/config/flags.js';
export { ApiError, StreamError } from '../../../../kubedns/dist/errors.js';
export { ClusterZone } from '../../../../kubedns/dist/zone/cluster-zone.js';
