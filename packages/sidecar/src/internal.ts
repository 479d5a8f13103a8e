// The parsers of this container, which packages/proofs tests with hostile input.
export { readReply } from './ask.js';
export { QueryError } from './errors.js';
export { FLAGS } from './flags.js';
export { readOptions } from './options.js';
export { parseStatistic, STATISTICS } from './statistics/statistic.js';
export { parseSubscriptions } from './statistics/subscription-counts.js';
