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
export { ServerHosts } from './server-hosts.js';
export type { HostLog, HostPace, ServerHostsOptions } from './server-hosts.js';
export type { Session, SessionService } from './session.js';
export type { TcpLimits } from './tcp-listener.js';
export type { SourcePorts } from './source-ports.js';
export { UDP_ENGINES, type UdpEngine, type UdpEngineChoice } from './udp-engine.js';
export { NO_OPTIONS, retryPlan } from './forward/contract.js';
export type {
  AddedOptions,
  AskCallback,
  FastRetry,
  ForwarderCounters,
  QueryForwarderOptions,
  QuestionState,
  ReplyInspector,
  RetryPlan,
  StaleAnswer,
  StaleReason,
  StaleRules,
} from './forward/contract.js';
export type { FailureReason, ReplyFlaw } from './forward/failure.js';
export { QueryForwarder } from './forward/forwarder.js';
export type {
  ExchangeObserver,
  ExchangeObservers,
  ServerCounter,
  ServerCounters,
} from './forward/observers.js';
export { GroupLoad, networkOf } from './forward/quota.js';
export { ServerGroup, UpstreamServers } from './forward/servers.js';
export type { ServerOrder, ServerSource, UpstreamServer } from './forward/servers.js';
export type {
  ReplyHandler,
  SentQuery,
  ServerSockets,
  Unreachable,
  UpstreamTarget,
} from './forward/server-sockets.js';
export { UpstreamSockets } from './forward/sockets.js';
export type { UpstreamSocketsOptions } from './forward/sockets.js';
