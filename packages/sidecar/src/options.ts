import {
  errorText,
  type FlagValues,
  intFlag,
  listFlag,
  MAX_TIMER_MS,
  portFlag,
  stringFlag,
  UsageError,
  wrongValue,
} from '@kube-dns/base';
import { STATUS_FLAG } from '@kube-dns/daemon';
import { parseServer, type Server } from './ask.js';
import { parseProbeSpec, PROBE_FORMAT, type ProbeSpec } from './probe.js';

export const HEALTHZ_PATH = '/healthz';

/** The path of the health of the probe with this label. */
export function healthcheckPath(label: string): string {
  return `/healthcheck/${label}`;
}

/** The sidecar's flags: kubernetes/dns pkg/sidecar/options.go, names and defaults unchanged. */
export const FLAGS = {
  'dnsmasq-addr': stringFlag('127.0.0.1', 'host of dnsmasq, for its statistics'),
  'dnsmasq-port': portFlag(53, 'port of dnsmasq', { min: 1 }),
  'dnsmasq-poll-interval-ms': intFlag(
    5_000,
    'pause between two polls of the statistics of dnsmasq, in milliseconds',
    { min: 1, max: MAX_TIMER_MS },
  ),
  probe: listFlag(
    parseProbeSpec,
    'DNS probe: its label (in /healthcheck/<label> and in metric names), the server to ask (default ' +
      'port 53), the name, the interval (seconds, default 5) and the type (A, AAAA, ANY or SRV, ' +
      'default ANY); may be repeated',
    PROBE_FORMAT,
  ),
  'prometheus-addr': stringFlag(
    '0.0.0.0',
    'address to serve HTTP on; 0.0.0.0 and [::]: all addresses, IPv4 and IPv6',
  ),
  'prometheus-port': portFlag(10_054, 'port to serve HTTP on'),
  'prometheus-path': stringFlag('/metrics', 'path of the metrics'),
  'prometheus-namespace': stringFlag('kubedns', 'first part of the metric names'),
  status: STATUS_FLAG,
};

/** The values of the flags, checked against each other. */
export interface SidecarOptions {
  readonly dnsmasq: Server;
  readonly pollIntervalMs: number;
  readonly probes: readonly ProbeSpec[];
  readonly httpHost: string;
  readonly httpPort: number;
  readonly metricsPath: string;
  readonly namespace: string;
  /** Whether every client gets the status page. */
  readonly showsStatus: boolean;
}

/**
 * Combines the flags. Throws a UsageError for a label that is used twice and for a metrics path that is
 * taken, where the original panics, and for a namespace that no metric name can begin with.
 */
export function readOptions(values: FlagValues<typeof FLAGS>): SidecarOptions {
  const probes = values.probe;
  checkLabels(probes);
  checkPath(values['prometheus-path'], probes);
  checkNamespace(values['prometheus-namespace']);
  return {
    dnsmasq: readDnsmasq(values['dnsmasq-addr'], values['dnsmasq-port']),
    pollIntervalMs: values['dnsmasq-poll-interval-ms'],
    probes,
    httpHost: values['prometheus-addr'],
    httpPort: values['prometheus-port'],
    metricsPath: values['prometheus-path'],
    namespace: values['prometheus-namespace'],
    showsStatus: values.status,
  };
}

function readDnsmasq(host: string, port: number): Server {
  try {
    const isBare = !host.includes(':') || host.startsWith('[');
    return parseServer(isBare ? `${host}:${port}` : `[${host}]:${port}`);
  } catch (error) {
    throw wrongValue('dnsmasq-addr', host, errorText(error));
  }
}

function checkLabels(probes: readonly ProbeSpec[]): void {
  const labels = new Set<string>();
  for (const { label } of probes) {
    if (labels.has(label)) throw new UsageError(`--probe: label ${label} is used twice`);
    labels.add(label);
  }
}

function checkPath(path: string, probes: readonly ProbeSpec[]): void {
  if (!/^\/[!-~]*$/.test(path) || /[?#]/.test(path)) {
    throw wrongValue('prometheus-path', path, 'must be a path that starts with /');
  }
  if (path === HEALTHZ_PATH || probes.some(({ label }) => path === healthcheckPath(label))) {
    throw wrongValue('prometheus-path', path, 'this path is taken');
  }
}

function checkNamespace(namespace: string): void {
  // It may be empty: the names then start with the next part, as in the Go client.
  if (!/^(?:[a-zA-Z_:][a-zA-Z0-9_:]*)?$/.test(namespace)) {
    throw wrongValue('prometheus-namespace', namespace, 'metric names cannot begin with it');
  }
}
