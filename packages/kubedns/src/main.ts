import { setTimeout as delay } from 'node:timers/promises';
import { runProgram, StartupError } from '@kube-dns/daemon';
import { MAX_TIMER_MS, PROGRAM } from './config/flags.js';
import { serveMetrics, serveReadiness } from './http.js';
import { KubednsServer } from './server.js';

const EXIT_NOT_SYNCED = 255;

runProgram(
  PROGRAM,
  async ({ values, log, signals }) => {
    log.info(`version ${PROGRAM.version}`);
    const userAgent = `kube-dns/${PROGRAM.version} (${process.platform}/${process.arch})`;
    const server = new KubednsServer(values, log, userAgent);
    const closing = new AbortController();
    await server.start();
    const isReady = () => server.watch.isSynced && !closing.signal.aborted;
    const readiness = await serveReadiness(values['healthz-port'], log, isReady);
    log.info(`serving /readiness on port ${readiness.port}`);
    const metrics = await serveMetrics(process.env, log, server.answerer);

    signals.onTerminate(async (signal) => {
      closing.abort();
      // Whoever still has this pod among its name servers must not meet silence.
      if (signal === 'SIGTERM') await delay(values['drain-time']);
      await Promise.all([server.close(), readiness.close(), metrics?.close()]);
    });

    const timeoutMs = values['initial-sync-timeout'];
    if (timeoutMs <= 0 || (await server.watch.waitForSync(timeoutMs))) return;
    if (closing.signal.aborted) return;
    throw new StartupError(
      `no complete list of ${server.watch.pending.join(', ')} within ${timeoutMs} ms`,
      EXIT_NOT_SYNCED,
    );
  },
  // How long a drain may take is for its flag to say, and for kubelet to end.
  { terminateLimitMs: MAX_TIMER_MS },
);
