import { setTimeout as delay } from 'node:timers/promises';
import { getHeapStatistics } from 'node:v8';
import { errorText } from '@kube-dns/base';
import { type HttpServer, type Log, type RequestHandler, startHttpServer } from '@kube-dns/daemon';

const HOST = '127.0.0.1';
/** kubernetes/dns cmd/kube-dns/app/server.go. */
const PORT = 6060;
const DEFAULT_SECONDS = 10;
const MAX_SECONDS = 120;
/** Time for writing the profile. */
const EXTRA_MS = 30_000;

const INDEX = `/debug/pprof/profile?seconds=N  CPU profile (.cpuprofile) of N seconds, ${DEFAULT_SECONDS} unless given, at most ${MAX_SECONDS}
/debug/memory                   memory of the process, in bytes
`;

/** Resolves after so many ms; rejects when the signal aborts. */
type Wait = (ms: number, signal: AbortSignal) => Promise<unknown>;
const wait: Wait = (ms, signal) => delay(ms, undefined, { signal });

/**
 * Serves a CPU profiler and memory figures on 127.0.0.1 only (`--profiling`). Returns undefined when the
 * port is not available, which is logged.
 */
export async function startProfilingServer(
  log: Log,
  port: number = PORT,
  waitFor: Wait = wait,
): Promise<HttpServer | undefined> {
  try {
    const server = await startHttpServer({
      host: HOST,
      port,
      log,
      purpose: 'profiling',
      routes: (app) => {
        app.all('/debug/pprof/', (_request, response) => {
          response.type('text/plain').send(INDEX);
        });
        app.all('/debug/pprof/profile', profileHandler(waitFor));
        app.all('/debug/memory', (_request, response) => {
          response.json({ ...process.memoryUsage(), heap: getHeapStatistics() });
        });
      },
    });
    log.info(`profiling on http://${HOST}:${server.port}/debug/pprof/`);
    return server;
  } catch (error) {
    log.warn(`${errorText(error)}; continuing without it`);
    return undefined;
  }
}

/** One profile at a time; it ends when its client disconnects. */
function profileHandler(waitFor: Wait): RequestHandler {
  let isBusy = false;
  return async (request, response) => {
    const { seconds: text = String(DEFAULT_SECONDS) } = request.query;
    const seconds = typeof text === 'string' && /^[0-9]{1,3}$/.test(text) ? Number(text) : 0;
    if (seconds < 1 || seconds > MAX_SECONDS) {
      response.status(400).type('text/plain').send(`seconds must be 1 to ${MAX_SECONDS}\n`);
      return;
    }
    if (isBusy) {
      response.status(429).type('text/plain').send('another profile is in progress\n');
      return;
    }
    isBusy = true;
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    request.setTimeout(seconds * 1_000 + EXTRA_MS);
    try {
      const profile = await takeProfile(() => waitFor(seconds * 1_000, gone.signal));
      response.attachment('kubedns.cpuprofile').type('application/json').send(profile);
    } finally {
      isBusy = false;
    }
  };
}

async function takeProfile(waitForEnd: () => Promise<unknown>): Promise<string> {
  // Loads worker threads, too: not at each start.
  const { Session } = await import('node:inspector/promises');
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.start');
    await waitForEnd().catch(() => {
      /* the client has disconnected */
    });
    const { profile } = await session.post('Profiler.stop');
    return JSON.stringify(profile);
  } finally {
    session.disconnect();
  }
}
