export {
  type Command,
  type CommandContext,
  PROGRAM_OPTIONS,
  type ProgramValues,
} from './command/command.js';
export {
  commandEntry,
  type CommandEntry,
  describeOptions,
  runCommandLine,
} from './command/command.js';
export {
  namesOption,
  partsOption,
  numberOption,
  numbersOption,
  type Option,
  type Options,
  type OptionValues,
  switchOption,
  textOption,
  wordsOption,
} from '@kube-dns/base';
export { type ConfigKeys, ConfigVolume } from './config-volume.js';
export {
  awaitRecord,
  type BundleStart,
  Dnsmasq,
  type DnsmasqPorts,
  type DnsmasqStart,
  httpStatus,
  isOk,
  Kubedns,
  type KubednsPorts,
  type KubednsStart,
  MetricPage,
  NodeCache,
  type NodeCachePorts,
  type NodeCacheStart,
  Sidecar,
  type SidecarStart,
  startBundle,
} from './containers/containers.js';
export {
  RealDnsmasq,
  type RealDnsmasqOptions,
  Unbound,
  type UnboundOptions,
} from './containers/peers.js';
export {
  ask,
  connectUdp,
  exchange,
  type ExchangeOptions,
  frameMessage,
  Frames,
  Inbox,
  sendQuietly,
  statistic,
  TcpClient,
  UdpClient,
} from './dns/clients.js';
export {
  type DnsperfOptions,
  dnsperfOutput,
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
export { HeldNameServer, type HeldNameServerMethods, NAME_ENDS } from './dns/held-name-server.js';
export {
  addressRecords,
  type AskedQuestion,
  cnameRecord,
  decodeMessage,
  type DnsRecord,
  type Edns,
  ednsOf,
  ednsText,
  encodeQuery,
  encodeReply,
  type Message,
  optionTexts,
  optRecord,
  type OptionText,
  type Question,
  questionEnd,
  questionOf,
  type Rcode,
  rcodeOf,
  RCODES,
  type ReplyRecord,
  type Response,
  soaRecord,
  withRecord,
} from './dns/messages.js';
export { PinningRelay } from './dns/pinning-relay.js';
export { type LadderKind, pointerLadders } from './dns/pointer-ladders.js';
export { QueryLoad } from './dns/query-load.js';
export {
  deadServer,
  heldReply,
  LoopbackUpstream,
  type NameServerOptions,
  NameServerRequest,
  type Script,
  ScriptedNameServer,
  type ScriptedReply,
  type ServerEndpoint,
} from './dns/scripted-name-server.js';
export { STUB_RESOLVERS, StubResolver, type StubResolverName } from './dns/stub-resolvers.js';
export { CommandError, MeasureError } from './errors.js';
export { held, type HeldName } from './held-timers.js';
export { memoryBytes } from './memory-quantity.js';
export { becomesTrue, monotonicMs, until, untilEqual, type WaitLimits } from './until.js';
export { type Closable, type Lifetime, Owned, ownedBy, TemporaryFolder } from './owned.js';
export {
  Browser,
  type BrowserView,
  needsChromium,
  runChromium,
  type ShownPage,
} from './process/chromium.js';
export {
  builtProgram,
  Dockerfile,
  type ImageName,
  IMAGES,
  imageStart,
  nodeFlagsOf,
  type ImageStart,
} from './process/dockerfile.js';
export { type CorePlan, findCores, pinnedCommand, pinProcess } from './process/cores.js';
export { freePort } from './process/free-port.js';
export {
  findCoreDns,
  findProgram,
  findRealDnsmasq,
  findRealNodeCache,
  needsCoreDns,
  needsIpv6,
  needsNamespaces,
  needsOtherUsers,
  needsPort53,
  needsPrograms,
  needsRealDnsmasq,
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
export {
  endPrograms,
  type ExampleLines,
  isAlive,
  outputOf,
  type ProgramEnd,
  type ProgramOptions,
  type ProgramResult,
  runExample,
  RunningProgram,
  runProgram,
} from './process/running-program.js';
export { type Methods, Remote, type RemoteOptions } from './process/remote.js';
export { type Bar, formatValue, type Machine, Report, type Section } from './report/report.js';
export { median, type Range, rangeOf, type Spread, spreadOf } from './statistics.js';
export { type Certificate, type CertificateFields, TestAuthority } from './tls/certificate.js';
export { unless } from './skipping.js';
