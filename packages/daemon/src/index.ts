export {
  type ClusterChoice,
  connectionReason,
  denialAdvice,
  isHandshakeFailure,
  type KubeconfigReader,
  loadKubeconfig,
  useApiServer,
} from './api-access.js';
export {
  ConfigDirectory,
  type ConfigDirectoryOptions,
  type ConfigFiles,
  configVersion,
  logRefusedConfig,
  moreMistakes,
  type RefusedConfig,
} from './config-directory.js';
export { type ConfiguredHosts, NO_HOSTS } from './configured-hosts.js';
export {
  CONFIG_KEYS,
  type DnsConfig,
  EMPTY_DNS_CONFIG,
  logUnknownKeys,
  NO_UNKNOWN_KEYS,
  parseDnsConfig,
  parseFederations,
  parseNameservers,
  type UnknownKeys,
  unknownKeys,
} from './dns-config.js';
export { ConfigError, failStartup, StartupError } from './errors.js';
export {
  type Express,
  type HttpServer,
  type HttpServerOptions,
  type RequestHandler,
  startHttpServer,
} from './http-server.js';
export { collectGarbage } from './idle-collection.js';
export { type LocalAnswer, type LocalPage, localPages } from './local/local-page.js';
export { createLog, createStderrWriter, type Log, type LogOptions } from './log.js';
export { metricsHandler, renderFamilies } from './metrics/exposition.js';
export {
  type CountedListener,
  listenerFamilies,
  overloadFamilies,
  tcpFamilies,
} from './metrics/listener-families.js';
export {
  BucketHistogram,
  by,
  byBoth,
  byKey,
  corednsRenames,
  labelled,
  type LabelledHistogram,
  type LabelledValue,
  type MetricFamily,
  type MetricPrefix,
  metricPrefix,
  type MetricRename,
  renamedFamilies,
} from './metrics/metric-family.js';
export { MetricsServer, type MetricsServerOptions } from './metrics/metrics-server.js';
export {
  type CountedNameServer,
  NameServerHealth,
  upstreamFamilies,
  type UpstreamSources,
} from './metrics/name-server-families.js';
export { type ActiveConfig, configFamilies, programFamilies } from './metrics/process-families.js';
export {
  type EncryptedServer,
  isDnsLabel,
  isDnsSubdomain,
  isIpAddress,
  type NameServer,
  parseEncryptedServer,
  parseNameServer,
} from './name-server.js';
export { type ProgramContext, type ProgramFacts, type RunOptions, runProgram } from './program.js';
export {
  parseQueryLogRules,
  QUERY_LOG_OFF,
  type QueryLogClass,
  queryLogFlag,
  type QueryLogFormat,
  type QueryLogRules,
} from './query-log-rules.js';
export { READ_FLAGS, readDescriptor, readTextFile } from './text-file.js';
export type { Signals, TerminationSignal } from './signals.js';
export {
  decodeSnapshot,
  encodeSnapshot,
  type Snapshot,
  SnapshotError,
  SnapshotFile,
  type SnapshotHeader,
  type SnapshotRules,
} from './snapshot.js';
export { CookieSecretFile, readTlsCa, readTsigKey, weakness } from './startup-files.js';
export { limitedClientRows, overloadProblems } from './status/overload-status.js';
export { openStatusPaths, STATUS_FLAG, statusPage } from './status/status-page.js';
export {
  type ConfigStatus,
  type Setting,
  type StatusFacts,
  type StatusSections,
  type StatusSource,
  type StatusValue,
  timeText,
} from './status/status-report.js';
export { VERSION } from './version.js';
