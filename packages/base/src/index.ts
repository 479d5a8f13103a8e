export { BackOff, type BackOffOptions } from './back-off.js';
export { ClientNetworks } from './client-networks.js';
export { type Clock, MAX_TIMER_MS, systemClock } from './clock.js';
export { CodedError, errorText, systemReason, UsageError } from './errors.js';
export {
  boolFlag,
  choiceFlag,
  durationFlag,
  intFlag,
  listFlag,
  LOG_FORMATS,
  parseFlags,
  portFlag,
  requestedLogFormat,
  SHARED_FLAGS,
  stringFlag,
  waitFlag,
  wrongValue,
  type FlagDefinition,
  type FlagRequest,
  type FlagSpec,
  type FlagValues,
  type LogFormat,
  type ParsedFlags,
  type Program,
} from './flags.js';
export { formatGoDuration, parseGoDuration } from './go-duration.js';
export { hint, nearest } from './hint.js';
export { formatHostPort, type HostPort, MAX_PORT, parseHostPort, wrongPort } from './host-port.js';
export {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  JsonShape,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from './json-shape.js';
export { atOnce, inTurns, LoopTurn } from './loop-turn.js';
export {
  type GivenOptions,
  namesOption,
  partsOption,
  numberOption,
  numbersOption,
  type Option,
  optional,
  type Options,
  type OptionValues,
  parseOptions,
  preset,
  repeatable,
  switchOption,
  textOption,
  wordsOption,
} from './options.js';
export { hideUrlSecrets, isWithin, MAX_QUOTED, quote, shownText, shownUrl } from './text.js';
export { threadCpuMs, TLS_CLIENT, watchTickets } from './tls-client.js';
export { TokenBucket } from './token-bucket.js';
export { within } from './within.js';
export { Trace, TraceKind } from './trace.js';
export { layOut, usageText, wrap } from './usage.js';
export { linkVolume, swapVolume, writeVolume } from './volume-files.js';
