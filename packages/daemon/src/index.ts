export { useApiServer, type ClusterChoice } from './api-server-url.js';
export { BucketHistogram, type BucketFigures } from './bucket-histogram.js';
export { ConfigDirectory, type ConfigDirectoryOptions } from './config-directory.js';
export { configVersion, type ConfigFiles } from './config-files.js';
export { logRefusedConfig } from './config-refusal.js';
export {
  EMPTY_DNS_CONFIG,
  parseDnsConfig,
  parseFederations,
  parseNameservers,
  type DnsConfig,
} from './dns-config.js';
export { ConfigError, errorText, failStartup, StartupError, UsageError } from './errors.js';
export {
  boolFlag,
  durationFlag,
  intFlag,
  listFlag,
  stringFlag,
  type FlagDefinition,
  type FlagSpec,
  type FlagValues,
} from './flag-definition.js';
export { parseFlags, type FlagRequest, type ParsedFlags, type Program } from './flags.js';
export { formatHostPort, parseHostPort, type HostPort } from './host-port.js';
export {
  startHttpServer,
  type Express,
  type HttpServer,
  type HttpServerOptions,
  type RequestHandler,
} from './http-server.js';
export { listenerFamilies } from './listener-metrics.js';
export type { CountedListener, ListenerCounts, ListenerMetrics } from './listener-metrics.js';
export { createLog, createStderrWriter, type Log, type LogOptions } from './log.js';
export type {
  LabelledHistogram,
  LabelledValue,
  MetricDescription,
  MetricFamily,
} from './metric-family.js';
export { MetricsServer, type MetricsServerOptions } from './metrics-server.js';
export { createRegistry, metricsHandler, type Registry } from './metrics.js';
export { isDnsLabel, isDnsSubdomain, isIpAddress, parseNameServer } from './name-server.js';
export { NameServerHealth, nameServerFamilies } from './name-server-metrics.js';
export type { CountedNameServer, NameServerMetrics } from './name-server-metrics.js';
export {
  observedCounter,
  observedGauge,
  observedHistogram,
  observeFamilies,
} from './observed-metrics.js';
export type { FamiliesOptions, ServedFamilies } from './open-families.js';
export { renamedFamilies, type MetricRename } from './renamed-families.js';
export { runProgram, type ProgramContext, type RunOptions } from './program.js';
export { serveFamilies } from './serve-families.js';
export type { Signals, TerminationSignal } from './signals.js';
export { usageText } from './usage.js';
export { addFigures } from './workers/add-figures.js';
export { ChangeQueue, type ChangeSource, type Follower } from './workers/change-queue.js';
export { serveAsWorker, type Leader, type WorkerTask } from './workers/serve-as-worker.js';
export { WorkerPool, type WorkerPoolOptions } from './workers/worker-pool.js';
export type { WorkerThread } from './workers/worker-thread.js';
