import { errorText, type FlagValues, UsageError, wrongValue } from '@kube-dns/base';
import type { FLAGS } from './flags.js';
import type { ProbeSpec } from './probe/probe-spec.js';
import { HEALTHZ_PATH, healthcheckPath } from './routes.js';
import { parseServer, type Server } from './server.js';

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
