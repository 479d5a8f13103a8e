// The parsers of this container, which packages/proofs tests with hostile input, and the tables of its README.
export { QueryError, readReply } from './ask.js';
export { metricFamilies } from './metrics.js';
export { FLAGS, readOptions } from './options.js';
export { parseStatistic, parseSubscriptions, STATISTICS } from './statistics.js';
