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
export type { EncryptedStatus } from './encrypted/server-connections.js';
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
export type { StaleAnswer, StaleReason, StaleRules } from './upstream/stale-clients.js';
export { ServerHosts } from './server-hosts.js';
export type { HostLog, HostPace, ServerHostsOptions } from './server-hosts.js';
export type { Session, SessionService } from './session.js';
export type { TcpLimits } from './tcp-listener.js';
export type { SourcePorts } from './source-ports.js';
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
