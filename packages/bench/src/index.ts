export { commandEntry, type CommandEntry, runCommandLine } from './command-line.js';
export {
  numberOption,
  type Option,
  type Options,
  type OptionValues,
  switchOption,
  textOption,
  wordsOption,
} from './command-options.js';
export {
  type Command,
  PROGRAM_OPTIONS,
  type ProgramValues,
  type Surroundings,
} from './commands/command.js';
export { findCores, pinProcess } from './cores.js';
export { BenchError, MeasureError, messageOf, UsageError } from './errors.js';
export { freePort } from './kubedns/free-port.js';
export {
  cpuUsage,
  peakRssBytes,
  resetPeak,
  rssBytes,
  usageSince,
} from './kubedns/process-usage.js';
export { ServerProcess } from './kubedns/server-process.js';
export { monotonicMs } from './monotonic.js';
export { type Closable, Owned } from './owned.js';
export {
  dnsperfOutput,
  type DnsperfOptions,
  type DnsperfResult,
  dnsperfVersion,
  parseDnsperf,
  parseLatencies,
  runDnsperf,
} from './queries/dnsperf.js';
export { encodeQuestion, type LoadQuestion } from './queries/question-file.js';
export { type Methods, Remote, type RemoteOptions, serveRemote } from './remote.js';
export type { Bar, Report, Section } from './report/report.js';
export { awaitRecord } from './servers/await-answer.js';
export { builtProgram } from './servers/built-program.js';
export { NameServer, type NameServerMethods } from './servers/name-server.js';
export { type Spread, spreadOf } from './statistics.js';
export { TemporaryFolder } from './temporary-folder.js';
export { until } from './until.js';
