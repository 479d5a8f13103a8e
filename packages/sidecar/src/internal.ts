// The parsers of this container, which packages/proofs tests with hostile input, and the tables of its README.
export { readReply } from './ask.js';
export { QueryError } from './errors.js';
export { FLAGS } from './flags.js';
export { metricFamilies } from './metrics.js';
export { readOptions } from './options.js';
export { parseStatistic, STATISTICS } from './statistics/statistic.js';
export { parseSubscriptions } from './statistics/subscription-counts.js';
