import {
  collectGarbage,
  localPages,
  metricsHandler,
  openStatusPaths,
  startHttpServer,
  type HttpServer,
  type Log,
  type ProgramContext,
} from '@kube-dns/daemon';

import { ask } from './ask.js';
import type { FLAGS } from './flags.js';
import { HostResolver } from './host-resolver.js';
import { metricFamilies } from './metrics.js';
import type { SidecarOptions } from './options.js';
import { SYSTEM_PACING } from './pacing.js';
import { Probe } from './probe/probe.js';
import { HEALTHZ_PATH, healthcheck, healthcheckPath, healthz, routeByPath } from './routes.js';
import { sidecarStatus } from './sidecar-status.js';
import { StatisticsPoll } from './statistics/statistics-poll.js';

/** The running sidecar: probes, statistics and HTTP. */
export interface Sidecar {
  readonly http: HttpServer;
  /** Ends all of them; may be called twice. */
  close(): Promise<void>;
}

/** What the status page and the metrics say of the program. */
type SidecarProgram = Pick<ProgramContext<typeof FLAGS>, 'facts' | 'statusPages'>;

/** Starts probing and serving; rejects with a StartupError when it cannot listen. */
export async function startSidecar(
  options: SidecarOptions,
  log: Log,
  program: SidecarProgram,
): Promise<Sidecar> {
  const { facts, statusPages } = program;
  const resolver = new HostResolver();
  const poll = new StatisticsPoll({
    intervalMs: options.pollIntervalMs,
    ask: (name, signal) =>
      ask({ server: options.dnsmasq, name, type: 'TXT', class: 'CH' }, resolver, signal),
    pacing: SYSTEM_PACING,
    log,
  });
  const probes = options.probes.map(
    (spec) =>
      new Probe({
        spec,
        ask: (signal) => ask({ ...spec, class: 'IN' }, resolver, signal),
        pacing: SYSTEM_PACING,
        log,
      }),
  );
  const families = metricFamilies({ namespace: options.namespace, facts, poll, probes });
  const routes = routeByPath(
    new Map([
      [HEALTHZ_PATH, healthz()],
      [options.metricsPath, metricsHandler(families)],
      ...probes.map(
        (probe) => [healthcheckPath(probe.spec.label), healthcheck(() => probe.health())] as const,
      ),
    ]),
  );
  const status = localPages(
    statusPages(sidecarStatus(options.dnsmasq, poll, probes)),
    openStatusPaths(options.showsStatus),
  );
  collectGarbage();
  const http = await startHttpServer({
    host: options.httpHost,
    port: options.httpPort,
    purpose: 'metrics',
    log,
    routes: (app) => app.use(routes, status),
  });
  const loops = [poll, ...probes];
  for (const loop of loops) loop.start();
  return {
    http,
    close: async () => {
      for (const loop of loops) loop.close();
      await http.close();
    },
  };
}
