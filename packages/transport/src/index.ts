export {
  type AddressedClient,
  type Answerer,
  type AnswerObserver,
  type AnswerSource,
  type Client,
  NO_ANSWER_YET,
  type ReplyPath,
  type ReplyStream,
  type RetainedQuery,
  type Session,
  type SessionService,
  SOURCE,
  SOURCE_NAMES,
} from './answerer.js';
export { loopUse, nowMs } from './batch-clock.js';
export { releaseFreeMemory, unblockSigusr1 } from './batch/libc.js';
export { chooseUdpEngine, type ChosenEngine } from './choose-udp-engine.js';
export { COOKIELESS_PER_SECOND, type CookieSecrets, ServerCookies } from './server-cookies.js';
export { ListenerCounters } from './counters.js';
export { descriptorShare } from './descriptor-limit.js';
export { EngineError, ExchangeError, type ExchangeErrorCode, ListenError } from './errors.js';
export type { EncryptedStatus } from './encrypted/pool.js';
export { exchange, type Exchange, type ExchangeDone, type ExchangeRequest } from './exchange.js';
export { frameMessage, FrameReader } from './frame-reader.js';
export { DEFAULT_TCP_AGE_MS, listen, type Listener, type ListenOptions } from './listener.js';
export {
  type Encryption,
  isLoopback,
  isOwnAddress,
  isStreamed,
  parseResolvConf,
  type ServerAddress,
  serverKey,
  serverText,
} from './server-address.js';
export { randomId, type SourcePorts } from './random-id.js';
export { hasIdOf, isReplyTo } from './reply-match.js';
export {
  type HostLog,
  type HostPace,
  ServerHosts,
  type ServerHostsOptions,
} from './server-hosts.js';
export type { TcpLimits } from './tcp-listener.js';
export {
  type LimitedClient,
  type Overload,
  UDP_ENGINES,
  type UdpEngine,
  type UdpEngineChoice,
} from './udp-engine.js';
export { NO_OPTIONS, retryPlan } from './forward/contract.js';
export type {
  AddedOptions,
  AskCallback,
  FastRetry,
  ForwarderCounters,
  ForwarderFacts,
  QueryForwarderOptions,
  QuestionState,
  ReplyInspector,
  RetryPlan,
  StaleAnswer,
  StaleReason,
  StaleRules,
} from './forward/contract.js';
export type { FailureReason, BadReplyReason } from './forward/failure.js';
export { QueryForwarder } from './forward/forwarder.js';
export {
  EXCHANGED,
  type ExchangeEvent,
  type ExchangeObserver,
  type ExchangeObservers,
  type ServerCounter,
  type ServerCounters,
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
