import {
  createRegistry,
  type HttpServer,
  type Log,
  metricsHandler,
  observedCounter,
  startHttpServer,
} from '@kube-dns/daemon';
import type { KubednsAnswerer } from './answer/kubedns-answerer.js';

/** All addresses of both families, as Go's `:port`: kubelet probes the family that the pod has. */
const ANY_HOST = '';
const DEFAULT_METRICS_PATH = '/metrics';
const MAX_PORT = 65_535;

/** Serves `/readiness`: 200 once every object was seen, 503 before and while closing. */
export function serveReadiness(
  port: number,
  log: Log,
  isReady: () => boolean,
): Promise<HttpServer> {
  return startHttpServer({
    host: ANY_HOST,
    port,
    log,
    what: 'readiness',
    routes: (app) => {
      app.all('/readiness', (_request, response) => {
        const ready = isReady();
        response
          .status(ready ? 200 : 503)
          .type('text/plain')
          .send(ready ? 'ok\n' : 'not ready\n');
      });
    },
  });
}

/**
 * Serves the metrics where the environment says so: `PROMETHEUS_PORT`, `PROMETHEUS_PATH`. A value that
 * is no port (service links inject `tcp://…`, kubernetes/kubernetes#25573) is logged and turns them off.
 */
export async function serveMetrics(
  env: NodeJS.ProcessEnv,
  log: Log,
  answerer: KubednsAnswerer,
): Promise<HttpServer | undefined> {
  const { PROMETHEUS_PORT: text = '', PROMETHEUS_PATH = '' } = env;
  if (text === '') return undefined;
  const port = /^[0-9]{1,5}$/.test(text) ? Number(text) : -1;
  const path = PROMETHEUS_PATH === '' ? DEFAULT_METRICS_PATH : PROMETHEUS_PATH;
  // Other characters than these mean something in a route.
  if (port < 1 || port > MAX_PORT || !/^\/[\w./~-]*$/.test(path)) {
    log.warn(`metrics are off: PROMETHEUS_PORT=${text}, PROMETHEUS_PATH=${path}`);
    return undefined;
  }
  const registry = createRegistry();
  observedCounter(
    registry,
    {
      name: 'skydns_skydns_dns_request_count_total',
      help: 'Counter of DNS requests made.',
      labelNames: ['system'],
    },
    () =>
      Object.entries(answerer.questions).map(([system, value]) => ({ labels: { system }, value })),
  );
  return startHttpServer({
    host: ANY_HOST,
    port,
    log,
    what: 'metrics',
    routes: (app) => {
      app.all(path, metricsHandler(registry));
    },
  });
}
