import { type Log, MAX_PORT } from '@kube-dns/daemon';

/** Where and under which names metrics are served. */
export interface MetricsEnvironment {
  readonly port: number;
  readonly path: string;
  /** Comes before the names of skydns: `<namespace>_<subsystem>`. */
  readonly prefix: string;
}

const DEFAULT_PATH = '/metrics';
const DEFAULT_NAME = 'skydns';
const PORT = /^[0-9]{1,5}$/;
const NAMESPACE = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
/** It never stands first. */
const SUBSYSTEM = /^[a-zA-Z0-9_:]+$/;
/** Names of our own and of the process begin so. */
const RESERVED = /^(?:kubedns|process)$/;

/**
 * Reads `PROMETHEUS_PORT`, `_PATH`, `_NAMESPACE` and `_SUBSYSTEM`. A port that is none (service links
 * inject `tcp://…`, kubernetes/kubernetes#25573) is logged and turns metrics off; any other value that
 * cannot be used is logged and its default holds. Undefined when metrics are off.
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
    log.warn(`${name}=${value} cannot be used; it is ${initial}`);
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
