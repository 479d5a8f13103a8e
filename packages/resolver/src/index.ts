export { CachedAnswers } from './answer/cached-answers.js';
export {
  AnswerCounters,
  CachedForwarding,
  type Forwarding,
  type Intake,
  mayReadCache,
  type PrefetchOptions,
  type StaleAnswers,
  staleRules,
} from './answer/cached-forwarding.js';
export { clampTtls } from './answer/clamp-ttls.js';
export { type HeardAt, neverHeard, type Teller, ToldChanges } from './cache/announced-changes.js';
export {
  AnswerCache,
  type AnswerCacheOptions,
  type CachedAnswer,
  type CachedEntry,
  type EntryCounts,
  type Hit,
} from './cache/answer-cache.js';
export { CacheableAnswer, EVERY_TYPE } from './cache/cacheable-answer.js';
export { MAX_HITS, NONE } from './cache/entry-store.js';
export { type CachingRules, ReplyReader } from './cache/reply-reader.js';
export { cacheStep, outcomeStep, skippedSteps } from './explain/explanation-steps.js';
export {
  type ServerFacts,
  serverFacts,
  serverFactsText,
  serverProblems,
  serverRows,
} from './status/server-facts.js';
export {
  cacheFacts,
  cacheRows,
  flightFacts,
  zoneProblems,
  zoneRows,
} from './status/status-rows.js';
export type { ChangeListener } from './subscription/change-listener.js';
export { ReplyTeller } from './subscription/reply-teller.js';
export { ServerInstance } from './subscription/server-instance.js';
export type { SubscriptionRow } from './subscription/subscription-row.js';
export { type SubscribedServer, Subscriptions } from './subscription/subscriptions.js';
export { subscriptionsPage } from './subscription/subscriptions-page.js';
export { ZoneServer } from './subscription/zone-server.js';
export { Subscribers, type ToldZones } from './telling/subscribers.js';
export {
  type SubscriberCounts,
  subscriberFamilies,
  type SubscriberMetrics,
} from './telling/subscriber-families.js';
export { subscribersPage } from './telling/subscribers-page.js';
export { overlaps } from './telling/overlaps.js';
export { versionLabels } from './telling/version-labels.js';
export { type NewsListener, ZoneNews } from './telling/zone-news.js';
export { LoopDetector } from './upstream/loop-detector.js';
export { noteHealth, ServerStatistics } from './upstream/server-statistics.js';
