import {
  type HttpServer,
  type LocalPage,
  localPages,
  type Log,
  startHttpServer,
} from '@kube-dns/daemon';
import { dumpHandler } from './dump-handler.js';

export interface HealthServerOptions {
  readonly host: string;
  readonly port: number;
  readonly log: Log;
  readonly isReady: () => boolean;
  /** The text of `/cache`, generated piece by piece on demand. */
  readonly dump: () => Iterable<string>;
  /** The text of `/subscribers`. */
  readonly subscribers: () => string;
  /** Pages for this machine and this pod alone, by path. */
  readonly localPages?: ReadonlyMap<string, LocalPage>;
}

/**
 * Serves `/readiness` (200 once every object was listed, 503 before and while closing), `/cache` and
 * `/subscribers`. Rejects with a StartupError when the port is not available.
 */
export function startHealthServer(options: HealthServerOptions): Promise<HttpServer> {
  const { host, port, log, isReady, dump, subscribers } = options;
  return startHttpServer({
    host,
    port,
    log,
    purpose: 'readiness',
    routes: (app) => {
      app.all('/readiness', (_request, response) => {
        const ready = isReady();
        response
          .status(ready ? 200 : 503)
          .type('text/plain')
          .send(ready ? 'ok\n' : 'not ready\n');
      });
      app.all('/cache', dumpHandler(dump));
      app.all('/subscribers', (_request, response) => {
        response.type('application/json').send(subscribers());
      });
      app.use(localPages(options.localPages ?? new Map()));
    },
  });
}
