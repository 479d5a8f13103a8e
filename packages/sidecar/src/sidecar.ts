import { formatHostPort } from '@kube-dns/base';
import {
  collectGarbage,
  type HttpServer,
  localPages,
  type Log,
  metricsHandler,
  openStatusPaths,
  type ProgramContext,
  type RequestHandler,
  startHttpServer,
  type StatusFacts,
  type StatusSource,
  timeText,
} from '@kube-dns/daemon';
import { ask, HostResolver, type Server } from './ask.js';
import { metricFamilies } from './metrics.js';
import { type FLAGS, healthcheckPath, HEALTHZ_PATH, type SidecarOptions } from './options.js';
import { SYSTEM_PACING } from './pacing.js';
import { type Health, healthJson, Probe } from './probe.js';
import { STATISTICS, StatisticsPoll } from './statistics.js';

/** The running sidecar: probes, statistics and HTTP. */
interface Sidecar {
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

/** Handlers by exact path, for any method: paths in Go are not patterns. */
function routeByPath(handlers: ReadonlyMap<string, RequestHandler>): RequestHandler {
  return (request, response, next) => {
    const handler = handlers.get(request.path);
    if (handler !== undefined) return handler(request, response, next);
    next();
    return undefined;
  };
}

/** 200 while the probe is healthy, otherwise 503; the body has the reason. */
function healthcheck(health: () => Health): RequestHandler {
  return (_request, response) => {
    const current = health();
    const body = healthJson(current);
    // Not `send`, which would add a charset to the type.
    response.writeHead(current.isOk ? 200 : 503, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
    });
    response.end(body);
  };
}

/** 200 as long as the process lives. */
function healthz(): RequestHandler {
  return (_request, response) => {
    const time = new Date().toISOString().replace('T', ' ').replace('Z', ' +0000 UTC');
    response.type('text/plain').send(`ok (${time})\n`);
  };
}

/** What the status page of the sidecar says: its probes, and what it knows of dnsmasq. */
function sidecarStatus(
  dnsmasq: Server,
  poll: StatisticsPoll,
  probes: readonly Probe[],
): StatusSource {
  return {
    problems: () => [
      ...probes.flatMap((probe) => probeProblems(probe)),
      ...(poll.isUp || poll.lastError === ''
        ? []
        : [`the statistics of dnsmasq cannot be read: ${poll.lastError}`]),
      ...subscriptionProblems(poll),
    ],
    sections: () => ({
      Probes: probes.map(probeRow),
      'Statistics of dnsmasq': statisticsFacts(dnsmasq, poll),
    }),
  };
}

function probeProblems(probe: Probe): string[] {
  const { isOk, error } = probe.health();
  return isOk || probe.ageMs() === null ? [] : [`the probe ${probe.spec.label} fails: ${error}`];
}

function subscriptionProblems({ subscriptions }: StatisticsPoll): string[] {
  if (subscriptions === undefined || subscriptions.down === 0) return [];
  return [
    `${subscriptions.down} subscriptions of dnsmasq are down: its answers expire by their TTLs there`,
  ];
}

function probeRow(probe: Probe): StatusFacts {
  const { spec, errors, latencyMs } = probe;
  const { isOk, latencySeconds, error } = probe.health();
  const ageMs = probe.ageMs();
  return {
    probe: spec.label,
    state: isOk ? 'ok' : ageMs === null ? 'waiting' : 'failing',
    server: formatHostPort(spec.server),
    question: `${spec.name} ${spec.type}`,
    lastResultSeconds: ageMs === null ? null : ageMs / 1_000,
    lastMs: isOk ? latencySeconds * 1_000 : null,
    meanMs: latencyMs.count === 0 ? null : latencyMs.sum / latencyMs.count,
    errors,
    reason: error,
  };
}

function statisticsFacts(dnsmasq: Server, poll: StatisticsPoll): StatusFacts {
  const ageMs = poll.ageMs();
  return {
    server: formatHostPort(dnsmasq),
    isUp: poll.isUp,
    lastReadAt: ageMs === null ? null : timeText(Math.round(Date.now() - ageMs)),
    ...Object.fromEntries(STATISTICS.map((statistic) => [statistic, poll.value(statistic)])),
    errors: poll.errors,
    lastError: poll.lastError,
    subscriptionsLive: poll.subscriptions?.live ?? null,
    subscriptionsDown: poll.subscriptions?.down ?? null,
  };
}
