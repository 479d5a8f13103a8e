export type { AnswerObserver, RetainedQuery } from './answer-observer.js';
export { type AnswerSource, SOURCE, SOURCE_NAMES } from './answer-source.js';
export { NO_ANSWER_YET } from './answerer.js';
export type { AddressedClient, Answerer, Client, ReplyPath } from './answerer.js';
export { nowMs } from './batch-clock.js';
export { releaseFreeMemory } from './batch/libc.js';
export { chooseUdpEngine, type ChosenEngine } from './choose-udp-engine.js';
export { COOKIELESS_PER_SECOND, ServerCookies } from './cookies/server-cookies.js';
export type { CookieSecrets } from './cookies/server-cookies.js';
export { ListenerCounters } from './counters.js';
export { EngineError, ExchangeError, ListenError } from './errors.js';
export type { EncryptedStatus } from './encrypted/pool.js';
export type { ExchangeErrorCode } from './errors.js';
export { exchange } from './exchange.js';
export type { Exchange, ExchangeDone, ExchangeRequest } from './exchange.js';
export { frameMessage, FrameReader } from './frame-reader.js';
export { listen } from './listener.js';
export type { Listener, ListenOptions } from './listener.js';
export { isOwnAddress } from './own-address.js';
export { randomId } from './random-id.js';
export { hasIdOf, isReplyTo } from './reply-match.js';
export { parseResolvConf } from './resolv-conf.js';
export { isStreamed, serverKey, serverText } from './server-address.js';
export type { Encryption, ServerAddress } from './server-address.js';
export type { StaleAnswer, StaleReason, StaleRules } from './forward/stale-clients.js';
export { ServerHosts } from './server-hosts.js';
export type { HostLog, HostPace, ServerHostsOptions } from './server-hosts.js';
export type { Session, SessionService } from './session.js';
export type { TcpLimits } from './tcp-listener.js';
export type { SourcePorts } from './source-ports.js';
export { TokenBucket } from './token-bucket.js';
export { ZoneSubscription } from './subscription/zone-subscription.js';
export type { FlushCause } from './subscription/subscription-connection.js';
export type {
  SubscriptionEvents,
  SubscriptionStatus,
  ZoneSubscriptionOptions,
} from './subscription/zone-subscription.js';
export { UDP_ENGINES, type UdpEngine, type UdpEngineChoice } from './udp-engine.js';
export type { ExchangeObserver, ExchangeObservers } from './forward/exchange-observer.js';
export { networkOf } from './forward/fair-places.js';
export type { ReplyInspector } from './forward/flight-owner.js';
export type { ForwarderCounters } from './forward/forwarder-counters.js';
export { QueryForwarder } from './forward/query-forwarder.js';
export type { QueryForwarderOptions } from './forward/query-forwarder-options.js';
export type { FailureReason, ReplyFlaw } from './forward/reply-flaw.js';
export { retryPlan } from './forward/retry-plan.js';
export type { FastRetry, RetryPlan } from './forward/retry-plan.js';
export type { ServerCounter, ServerCounters } from './forward/server-counter.js';
export type { QuestionState } from './forward/question-ends.js';
export { GroupLoad, ServerGroup } from './forward/server-group.js';
export type { ServerOrder } from './forward/server-group.js';
export { NO_OPTIONS } from './forward/upstream-query.js';
export type { AddedOptions } from './forward/upstream-query.js';
export { UpstreamServers } from './forward/upstream-servers.js';
export type { ServerSource, UpstreamServer } from './forward/upstream-servers.js';
export type {
  ReplyHandler,
  SentQuery,
  ServerSockets,
  Unreachable,
  UpstreamTarget,
} from './forward/server-sockets.js';
export { UpstreamSockets } from './forward/upstream-sockets.js';
export type { UpstreamSocketsOptions } from './forward/upstream-sockets.js';
export type { AskCallback } from './forward/waiter.js';
