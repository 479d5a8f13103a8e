import { MAX_TIMER_MS } from '@kube-dns/base';
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

/** How a probe is written. */
export const PROBE_FORMAT = '<label>,<server>,<name>[,<interval>[,<type>]]';
const DEFAULT_INTERVAL_SECONDS = '5';
const DEFAULT_TYPE = 'ANY';
const LABEL = /^[a-zA-Z0-9_]+$/;
const MAX_INTERVAL_SECONDS = Math.floor(MAX_TIMER_MS / 1_000);

/**
 * Parses `<label>,<server>,<name>[,<interval seconds>[,<type>]]`; throws with what is wanted. The checks of
 * the original are first, in its order (kubernetes/dns pkg/sidecar/options.go, probeOptions.Set); then follow
 * those that it makes at every probe, or not at all and panics.
 */
export function parseProbeSpec(text: string): ProbeSpec {
  const fields = text.split(',');
  if (fields.length < 3 || fields.length > 5) throw new Error(`must be ${PROBE_FORMAT}`);
  const [label = '', server = '', bareName = ''] = fields;
  if (!LABEL.test(label)) throw new Error('the label must be letters, digits and _');
  const seconds = parseSeconds(fields[3] ?? DEFAULT_INTERVAL_SECONDS);
  const type = parseType(fields[4] ?? DEFAULT_TYPE);
  const name = bareName.endsWith('.') ? bareName : `${bareName}.`;
  encodeQuery({ id: 0, name, type }); // throws for a name that no query can hold
  return { label, server: parseServer(server), name, intervalMs: seconds * 1_000, type };
}

/** As Go's strconv.Atoi: decimal, a sign allowed. */
function parseSeconds(text: string): number {
  const seconds = /^[+-]?\d+$/.test(text) ? Number(text) : 0;
  if (seconds >= 1 && seconds <= MAX_INTERVAL_SECONDS) return seconds;
  throw new Error(`the interval must be whole seconds from 1 to ${MAX_INTERVAL_SECONDS}`);
}

function parseType(text: string): ProbeType {
  const type = PROBE_TYPES.find((each) => each === text);
  if (type === undefined) throw new Error(`the type must be one of ${PROBE_TYPES.join(', ')}`);
  return type;
}
