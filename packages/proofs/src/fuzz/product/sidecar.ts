// The parsers of the sidecar container, which has no exports: it is a program.
export { readReply } from '../../../../sidecar/dist/ask.js';
export { QueryError } from '../../../../sidecar/dist/errors.js';
export { FLAGS } from '../../../../sidecar/dist/flags.js';
export { readOptions } from '../../../../sidecar/dist/options.js';
export { parseStatistic, STATISTICS } from '../../../../sidecar/dist/statistics/statistic.js';
