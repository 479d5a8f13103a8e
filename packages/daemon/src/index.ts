export { useApiServer, type ClusterChoice } from './api-server-url.js';
export { ConfigDirectory, type ConfigDirectoryOptions } from './config-directory.js';
export { collectGarbage } from './collect-garbage.js';
export { configVersion, type ConfigFiles } from './config-files.js';
export { CookieSecretFile } from './cookie-secret-file.js';
export { logRefusedConfig, moreMistakes, type RefusedConfig } from './config-refusal.js';
export {
  EMPTY_DNS_CONFIG,
  parseDnsConfig,
  parseFederations,
  parseNameservers,
  type DnsConfig,
} from './dns-config.js';
export { ConfigError, failStartup, StartupError } from './errors.js';
export { parseEncryptedServer, type EncryptedServer } from './encrypted-server.js';
export {
  startHttpServer,
  type Express,
  type HttpServer,
  type HttpServerOptions,
  type RequestHandler,
} from './http-server.js';
export { localPages, type LocalAnswer, type LocalPage } from './local/local-page.js';
export { statusPage } from './status/status-page.js';
export { openStatusPaths, STATUS_FLAG } from './status/status-pages.js';
export { timeText } from './status/status-report.js';
export type { StatusFacts, StatusSections, StatusValue } from './status/status-sections.js';
export type { ConfigStatus, Setting, StatusSource } from './status/status-source.js';
export { connectionReason } from './connection-reason.js';
export { denialAdvice } from './denial.js';
export { loadKubeconfig, type KubeconfigReader } from './kubeconfig.js';
export { createLog, createStderrWriter, type Log, type LogOptions } from './log.js';
export { BucketHistogram } from './metrics/bucket-histogram.js';
export { metricsHandler, renderFamilies } from './metrics/exposition.js';
export { listenerFamilies } from './metrics/listener-families.js';
export type { CountedListener, ListenerMetrics } from './metrics/listener-families.js';
export { counter, gauge, histogram, info, labelledBy } from './metrics/metric-family.js';
export type {
  LabelledHistogram,
  LabelledValue,
  MetricDescription,
  MetricFamily,
} from './metrics/metric-family.js';
export { MetricsServer, type MetricsServerOptions } from './metrics/metrics-server.js';
export { NameServerHealth, nameServerFamilies } from './metrics/name-server-families.js';
export type {
  CountedNameServer,
  EncryptedNameServer,
  NameServerMetrics,
} from './metrics/name-server-families.js';
export { renamedFamilies, type MetricRename } from './metrics/renamed-families.js';
export { isDnsLabel, isDnsSubdomain, isIpAddress } from './name-checks.js';
export { parseNameServer, type NameServer } from './name-server.js';
export {
  parseQueryLogRules,
  QUERY_LOG_OFF,
  queryLogFlag,
  type QueryLogClass,
  type QueryLogFormat,
  type QueryLogRules,
} from './query-log-rules.js';
export { runProgram, type ProgramContext, type ProgramFacts, type RunOptions } from './program.js';
export type { Signals, TerminationSignal } from './signals.js';
export { readTextFile } from './text-file.js';
export { readTlsCa } from './tls-ca-file.js';
export { readTsigKey } from './tsig-key-file.js';
export { VERSION } from './version.js';
