// Caches for the tests of what is built on this package.
export { askCache, PLAIN_RULES, type Seen, storeReply } from './cached-answers.js';
export { SourceRecord } from './source-record.js';
