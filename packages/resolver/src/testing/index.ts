// Messages, clients and caches for the tests of what is built on this package.
export { askCache, PLAIN_RULES, type Seen, storeReply } from './cached-answers.js';
export {
  type Answer,
  ask,
  askTcp,
  exchangeTcp,
  exchangeUdp,
  flagsOf,
  readAnswer,
  statistic,
} from './client.js';
export {
  addressRecords,
  cnameRecord,
  keyOf,
  queryFor,
  queryMessage,
  type Question,
  readQuery,
  type Response,
  responseFor,
  responseTo,
  soaRecord,
  type WrittenRecord,
} from './messages.js';
export { QueryLoad } from './query-load.js';
export { SourceRecord } from './source-record.js';
