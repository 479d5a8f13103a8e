import { MAX_PORT } from '@kube-dns/base';
import { type Log } from '@kube-dns/daemon';

/** Port, path and name prefix of the metrics. */
export interface MetricsEnvironment {
  readonly port: number;
  readonly path: string;
  /** Prefix of the names of skydns: `<namespace>_<subsystem>`. */
  readonly prefix: string;
}

const DEFAULT_PATH = '/metrics';
const DEFAULT_NAME = 'skydns';
const PORT = /^[0-9]{1,5}$/;
const NAMESPACE = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
/** It is never the beginning of a name, so a digit may come first. */
const SUBSYSTEM = /^[a-zA-Z0-9_:]+$/;
/** The first words of kubedns's own metrics and of the process metrics. */
const RESERVED = /^(?:kubedns|process)$/;

/**
 * Reads `PROMETHEUS_PORT`, `_PATH`, `_NAMESPACE` and `_SUBSYSTEM`. An invalid port (service links
 * inject `tcp://…`, kubernetes/kubernetes#25573) is logged and turns metrics off; any other invalid value
 * is logged and its default is used. Undefined when metrics are off.
 */
export function readMetricsEnvironment(
  env: NodeJS.ProcessEnv,
  log: Log,
): MetricsEnvironment | undefined {
  const { PROMETHEUS_PORT: text = '' } = env;
  if (text === '') return undefined;
  const port = PORT.test(text) ? Number(text) : 0;
  if (port < 1 || port > MAX_PORT) {
    log.warn(`PROMETHEUS_PORT=${text} is not a port; metrics are off`);
    return undefined;
  }
  const read = (name: string, initial: string, isUsable: (value: string) => boolean) => {
    const value = env[name] ?? '';
    if (value === '' || isUsable(value)) return value || initial;
    log.warn(`${name}=${value} is not valid; using ${initial}`);
    return initial;
  };
  const path = read('PROMETHEUS_PATH', DEFAULT_PATH, (value) => /^\/[^\s?#]*$/.test(value));
  const namespace = read(
    'PROMETHEUS_NAMESPACE',
    DEFAULT_NAME,
    (value) => NAMESPACE.test(value) && !RESERVED.test(value),
  );
  const subsystem = read('PROMETHEUS_SUBSYSTEM', DEFAULT_NAME, (value) => SUBSYSTEM.test(value));
  return { port, path, prefix: `${namespace}_${subsystem}` };
}
