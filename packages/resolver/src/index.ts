export {
  AnswerCounters,
  type AnswerOrigin,
  mayReadCache,
  type PrefetchOptions,
  type QuestionFacts,
  Resolver,
  type ResolverFacts,
  type ResolverObserver,
  type ResolverPolicy,
  type SentQuestion,
} from './resolver.js';
export { ReplyPipeline, type ReplyPipelineOptions, type ReplyPolicy } from './reply-pipeline.js';
export {
  AnswerCache,
  type AnswerCacheOptions,
  type CachedAnswer,
  type CachedEntry,
  type CacheFacts,
  type EntryCounts,
  type Hit,
  LOOKED_UP,
} from './cache/answer-cache.js';
export { CacheableAnswer, EVERY_TYPE } from './cache/cacheable-answer.js';
export { type Dns64Options, type Dns64Rules, type InnerAnswerer } from './dns64/dns64.js';
export { InnerClient, type OnFound } from './dns64/inner-client.js';
export { type Nat64Prefix, parseNat64Prefix, WELL_KNOWN_PREFIX } from './dns64/nat64-prefix.js';
export { addOption, type RecordPredicate, withoutRecords } from './without-records.js';
export { MAX_HITS, NONE } from './cache/entry-store.js';
export { type CachingRules, ReplyReader } from './cache/reply-reader.js';
export {
  type CacheLook,
  cacheStep,
  dns64Steps,
  outcomeStep,
  skippedSteps,
} from './explain/explanation-steps.js';
export {
  type ServerFacts,
  serverFacts,
  serverFactsText,
  serverProblems,
  serverRows,
} from './status/server-facts.js';
export { cacheFacts, cacheRows, flightFacts } from './status/status-rows.js';
export { LoopDetector } from './upstream/loop-detector.js';
export { ServerStatistics } from './upstream/server-statistics.js';
export { groupOf, watchedServers } from './upstream/upstream-servers.js';
