import { MAX_TIMER_MS } from '@kube-dns/daemon';
import { encodeQuery } from '@kube-dns/wire';

import { parseServer, type Server } from '../server.js';

/** One `--probe`: the question, its server, the interval, and the label of the result. */
export interface ProbeSpec {
  /** Part of the URL path and of the metric names. */
  readonly label: string;
  readonly server: Server;
  /** With a final dot. */
  readonly name: string;
  readonly intervalMs: number;
  readonly type: ProbeType;
}

const PROBE_TYPES = ['A', 'AAAA', 'ANY', 'SRV'] as const;
export type ProbeType = (typeof PROBE_TYPES)[number];

const DEFAULT_INTERVAL_SECONDS = '5';
const DEFAULT_TYPE = 'ANY';
const LABEL = /^[a-zA-Z0-9_]+$/;
const MAX_INTERVAL_SECONDS = Math.floor(MAX_TIMER_MS / 1_000);

/**
 * Parses `<label>,<server>,<name>[,<interval seconds>[,<type>]]`. The checks of the original are first,
 * in its order and words (kubernetes/dns pkg/sidecar/options.go, probeOptions.Set); then follow those
 * that it makes at every probe, or not at all and panics.
 */
export function parseProbeSpec(text: string): ProbeSpec {
  const fields = text.split(',');
  if (fields.length < 3 || fields.length > 5) throw new Error('invalid format to --probe');
  const [label = '', server = '', bareName = ''] = fields;
  if (!LABEL.test(label)) throw new Error(`label must be of format ${LABEL.source}`);
  const seconds = parseSeconds(fields[3] ?? DEFAULT_INTERVAL_SECONDS);
  const type = parseType(fields[4] ?? DEFAULT_TYPE);
  if (seconds < 1) throw new Error('interval must be at least 1 second');
  if (seconds > MAX_INTERVAL_SECONDS) {
    throw new Error(`interval must be at most ${MAX_INTERVAL_SECONDS} seconds`);
  }
  const name = bareName.endsWith('.') ? bareName : `${bareName}.`;
  encodeQuery({ id: 0, name, type }); // throws for a name that no query can hold
  return { label, server: parseServer(server), name, intervalMs: seconds * 1_000, type };
}

/** Go's strconv.Atoi: decimal, a sign allowed. */
function parseSeconds(text: string): number {
  if (!/^[+-]?\d+$/.test(text)) {
    throw new Error(`strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`);
  }
  const seconds = Number(text);
  if (!Number.isSafeInteger(seconds)) {
    throw new Error(`strconv.Atoi: parsing ${JSON.stringify(text)}: value out of range`);
  }
  return seconds;
}

function parseType(text: string): ProbeType {
  const type = PROBE_TYPES.find((each) => each === text);
  if (type === undefined) throw new Error(`invalid type for DNS: ${text}`);
  return type;
}
