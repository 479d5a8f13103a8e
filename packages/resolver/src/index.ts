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
export { cacheStep } from './explain/cache-step.js';
export { outcomeStep, skippedSteps } from './explain/outcome-step.js';
export { type ServerFacts, serverFacts, serverFactsText } from './explain/server-facts.js';
export { cacheFacts, cacheRows } from './status/cache-rows.js';
export { flightFacts } from './status/flight-facts.js';
export { serverProblems, serverRows } from './status/server-rows.js';
export { zoneProblems, zoneRows } from './status/zone-rows.js';
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
export { noteHealth } from './upstream/server-health-log.js';
export { ServerStatistics } from './upstream/server-statistics.js';
