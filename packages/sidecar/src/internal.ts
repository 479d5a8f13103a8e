// The parsers of this container, which packages/proofs gives hostile bytes.
export { readReply } from './ask.js';
export { QueryError } from './errors.js';
export { FLAGS } from './flags.js';
export { readOptions } from './options.js';
export { parseStatistic, STATISTICS } from './statistics/statistic.js';
