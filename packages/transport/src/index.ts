export {
  type AddressedClient,
  type Answerer,
  type AnswerObserver,
  type AnswerSource,
  type Client,
  NO_ANSWER_YET,
  type ReplyPath,
  type RetainedQuery,
  type Session,
  type SessionService,
  SOURCE,
  SOURCE_NAMES,
} from './answerer.js';
export { nowMs } from './batch-clock.js';
export { releaseFreeMemory } from './batch/libc.js';
export { chooseUdpEngine, type ChosenEngine } from './choose-udp-engine.js';
export { COOKIELESS_PER_SECOND, type CookieSecrets, ServerCookies } from './server-cookies.js';
export { ListenerCounters } from './counters.js';
export { EngineError, ExchangeError, type ExchangeErrorCode, ListenError } from './errors.js';
export type { EncryptedStatus } from './encrypted/server-connections.js';
export { exchange, type Exchange, type ExchangeDone, type ExchangeRequest } from './exchange.js';
export { frameMessage, FrameReader } from './frame-reader.js';
export { listen, type Listener, type ListenOptions } from './listener.js';
export {
  type Encryption,
  isOwnAddress,
  isStreamed,
  parseResolvConf,
  type ServerAddress,
  serverKey,
  serverText,
} from './server-address.js';
export { randomId, type SourcePorts } from './random-id.js';
export { hasIdOf, isReplyTo } from './reply-match.js';
export type { StaleAnswer, StaleReason, StaleRules } from './upstream/stale-clients.js';
export {
  type HostLog,
  type HostPace,
  ServerHosts,
  type ServerHostsOptions,
} from './server-hosts.js';
export type { TcpLimits } from './tcp-listener.js';
export { TokenBucket } from './token-bucket.js';
export { ZoneSubscription } from './subscription/zone-subscription.js';
export type {
  SubscriptionEvents,
  SubscriptionStatus,
  ZoneSubscriptionOptions,
} from './subscription/zone-subscription.js';
export type { FlushCause } from './subscription/subscription-connection.js';
export { UDP_ENGINES, type UdpEngine, type UdpEngineChoice } from './udp-engine.js';
export type { ExchangeObserver, ExchangeObservers } from './upstream/exchange-observer.js';
export { networkOf } from './upstream/fair-places.js';
export type { ReplyInspector } from './upstream/flight-owner.js';
export type { ForwarderCounters } from './upstream/forwarder-counters.js';
export { QueryForwarder } from './upstream/query-forwarder.js';
export type { QueryForwarderOptions } from './upstream/query-forwarder-options.js';
export type { FailureReason, ReplyFlaw } from './upstream/reply-flaw.js';
export { retryPlan } from './upstream/retry-plan.js';
export type { FastRetry, RetryPlan } from './upstream/retry-plan.js';
export type { ServerCounter, ServerCounters } from './upstream/server-counter.js';
export type { QuestionState } from './upstream/question-ends.js';
export { GroupLoad, ServerGroup } from './upstream/server-group.js';
export type { ServerOrder } from './upstream/server-group.js';
export { NO_OPTIONS } from './upstream/upstream-query.js';
export type { AddedOptions } from './upstream/upstream-query.js';
export { UpstreamServers } from './upstream/upstream-servers.js';
export type { ServerSource, UpstreamServer } from './upstream/upstream-servers.js';
export type {
  ReplyHandler,
  SentQuery,
  ServerSockets,
  Unreachable,
} from './upstream/server-sockets.js';
export { UpstreamSockets } from './upstream/upstream-sockets.js';
export type { UpstreamTarget, UpstreamSocketsOptions } from './upstream/upstream-sockets.js';
export type { AskCallback } from './upstream/waiter.js';
