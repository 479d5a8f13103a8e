import { setTimeout as delay } from 'node:timers/promises';
import { MAX_TIMER_MS } from '@kube-dns/base';
import {
  failStartup,
  MetricsServer,
  openStatusPaths,
  runProgram,
  StartupError,
} from '@kube-dns/daemon';
import { bindAddress } from '@kube-dns/wire';
import { chooseUdpEngine, EngineError } from '@kube-dns/transport';
import { PROGRAM } from './config/flags.js';
import { startHealthServer } from './http/health-server.js';
import { readMetricsEnvironment } from './http/metrics-environment.js';
import { startProfilingServer } from './http/profiling-server.js';
import { allFamilies } from './metrics/metric-families.js';
import { KubednsServer } from './server.js';
import { kubednsStatus } from './status/kubedns-status.js';

const EXIT_FATAL = 255;

runProgram(
  PROGRAM,
  async ({ values, positional, log, signals, argv, facts, statusPages }) => {
    log.info(`version ${facts.version}`);
    log.verbose(1, `arguments: ${argv.join(' ')}`);
    if (positional.length > 0) log.warn(`ignored arguments: ${positional.join(' ')}`);
    const environment = readMetricsEnvironment(process.env, log);
    if (environment?.port === values['healthz-port']) {
      const message = `--healthz-port and PROMETHEUS_PORT are both ${environment.port}`;
      throw new StartupError(message, EXIT_FATAL);
    }
    const { engine, description } = await chooseUdpEngine(values['udp-engine']).catch(
      (error: unknown) => failStartup(error, EngineError, EXIT_FATAL),
    );
    log.info(`UDP engine: ${description}`);
    const server = new KubednsServer(values, engine, log, facts.version);
    const { dnstap: target, 'dns-bind-address': bound, 'dns-port': port } = values;
    const served = { address: bindAddress(bound), port };
    const about = { role: 'authoritative', program: PROGRAM.name, served } as const;
    await server.telemetry.openDnstap({ target, ...about, log });
    const closing = new AbortController();
    const isReady = () => server.isReady && !closing.signal.aborted;
    // A shared port has other processes that can answer: a process takes its part with a complete zone.
    const sharesPort = values['reuse-port'];
    if (!sharesPort) await server.listen();
    const health = await startHealthServer({
      host: values['http-bind-address'],
      port: values['healthz-port'],
      log,
      isReady,
      readyNote: () => server.readyNote,
      snapshots: server.givenSnapshots,
      dump: () => server.dump(),
      subscribers: () => server.subscribersPage(),
      localPages: server.localPages,
    });
    log.info(`serving /readiness on port ${health.port}`);
    const metrics =
      environment &&
      new MetricsServer({
        host: values['http-bind-address'],
        port: environment.port,
        path: environment.path,
        families: allFamilies(server.parts, { ...environment, ...facts, isReady }),
        localPages: new Map([...server.localPages, ...statusPages(kubednsStatus(server.parts))]),
        openPaths: openStatusPaths(values.status),
        log,
      });
    await metrics?.start();
    const profiling = values.profiling ? await startProfilingServer(log) : undefined;

    signals.onReload(() => server.reload());
    signals.onTerminate(async (signal) => {
      closing.abort();
      const saved = server.leave();
      // A client that still has this pod as a name server must get an answer.
      if (signal === 'SIGTERM') await delay(values['drain-time']);
      await saved;
      await Promise.all([server.close(), health.close(), metrics?.close(), profiling?.close()]);
    });

    const configured = server.follow();
    const timeoutMs = values['initial-sync-timeout'];
    const isSynced = timeoutMs <= 0 || (await server.watch.waitForSync(timeoutMs));
    if (!isSynced && !closing.signal.aborted) {
      throw new StartupError(
        `no complete list of ${server.watch.pending.join(', ')} within ${timeoutMs} ms`,
        EXIT_FATAL,
      );
    }
    await configured;
    if (sharesPort && !closing.signal.aborted) await server.listen();
  },
  // The drain has no limit here: its flag sets the time, and kubelet ends a drain that is too long.
  { terminateLimitMs: MAX_TIMER_MS },
);
