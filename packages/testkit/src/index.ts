export {
  type Command,
  PROGRAM_OPTIONS,
  type ProgramValues,
  type CommandContext,
} from './command/command.js';
export { commandEntry, type CommandEntry, runCommandLine } from './command/command-line.js';
export {
  numberOption,
  type Option,
  type Options,
  type OptionValues,
  parseOptions,
  switchOption,
  textOption,
  wordsOption,
} from './command/command-options.js';
export { type ConfigKeys, ConfigVolume } from './config-volume.js';
export { Dnsmasq, type DnsmasqPorts, type DnsmasqStart } from './containers/dnsmasq.js';
export { httpStatus, isOk } from './containers/http-status.js';
export { Kubedns, type KubednsPorts, type KubednsStart } from './containers/kubedns.js';
export { MetricPage } from './containers/metric-page.js';
export { RealDnsmasq, type RealDnsmasqOptions } from './containers/real-dnsmasq.js';
export { Unbound, type UnboundOptions } from './containers/unbound.js';
export { awaitRecord } from './dns/await-record.js';
export { TcpClient, UdpClient } from './dns/clients.js';
export {
  dnsperfOutput,
  type DnsperfOptions,
  type DnsperfResult,
  dnsperfVersion,
  parseDnsperf,
  parseLatencies,
  runDnsperf,
} from './dns/dnsperf.js';
export { type DnstapRow, readDnstap } from './dns/dnstap-reader.js';
export {
  EncryptedNameServer,
  type EncryptedNameServerOptions,
} from './dns/encrypted-name-server.js';
export { ask, exchange, type ExchangeOptions } from './dns/exchange.js';
export { frameMessage, Frames } from './dns/frames.js';
export { HeldNameServer, type HeldNameServerMethods, NAME_ENDS } from './dns/held-name-server.js';
export { Inbox } from './dns/inbox.js';
export {
  addressRecords,
  type AskedQuestion,
  decodeMessage,
  type DnsRecord,
  encodeQuery,
  encodeReply,
  type Message,
  type Question,
  questionEnd,
  questionOf,
  type Rcode,
  rcodeOf,
  RCODES,
  type ReplyRecord,
  type Response,
} from './dns/messages.js';
export {
  deadServer,
  NameServerRequest,
  type NameServerOptions,
  type Script,
  type ScriptedReply,
  ScriptedNameServer,
  type ServerEndpoint,
} from './dns/scripted-name-server.js';
export { STUB_RESOLVERS, StubResolver, type StubResolverName } from './dns/stub-resolvers.js';
export { LoopbackUpstream } from './dns/loopback-upstream.js';
export { connectUdp, sendQuietly } from './dns/udp-socket.js';
export { CommandError, MeasureError, messageOf, UsageError } from './errors.js';
export { held, type HeldName } from './held-timers.js';
export { memoryBytes } from './memory-quantity.js';
export { monotonicMs } from './monotonic.js';
export { type Closable, type Lifetime, Owned, ownedBy } from './owned.js';
export {
  Browser,
  type BrowserView,
  runChromium,
  type ShownPage,
  needsChromium,
} from './process/chromium.js';
export { builtProgram } from './process/built-program.js';
export { Dockerfile, type ImageName, IMAGES } from './process/dockerfile.js';
export { imageStart, type ImageStart } from './process/image-start.js';
export { type CorePlan, findCores, pinnedCommand, pinProcess } from './process/cores.js';
export { freePort } from './process/free-port.js';
export {
  findCoreDns,
  findProgram,
  findRealDnsmasq,
  findRealNodeCache,
  needsPrograms,
  needsCoreDns,
  needsIpv6,
  needsNamespaces,
  needsRealDnsmasq,
  needsOtherUsers,
  needsPort53,
  needsRealNodeCache,
  realDnsmasqVersion,
} from './process/installed.js';
export { NetworkNamespace } from './process/network-namespace.js';
export { PodmanStore } from './process/podman-store.js';
export {
  anonymousBytes,
  cpuUsage,
  peakRssBytes,
  type ProcessUsage,
  resetPeak,
  rssBytes,
  usageSince,
} from './process/process-usage.js';
export { type ExampleLines, runExample } from './process/readme-example.js';
export { type Methods, Remote, type RemoteOptions } from './process/remote.js';
export {
  endPrograms,
  isAlive,
  outputOf,
  type ProgramEnd,
  type ProgramOptions,
  type ProgramResult,
  RunningProgram,
  runProgram,
} from './process/running-program.js';
export type { Machine } from './report/machine.js';
export { type Bar, formatValue, Report, type Section } from './report/report.js';
export { median, type Range, rangeOf, type Spread, spreadOf } from './statistics.js';
export { TemporaryFolder } from './temporary-folder.js';
export { type Certificate, type CertificateFields, TestAuthority } from './tls/certificate.js';
export { becomesTrue, until, untilEqual, type WaitLimits } from './until.js';
export { unless } from './skipping.js';
