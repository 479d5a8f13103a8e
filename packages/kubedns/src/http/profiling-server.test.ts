import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { HttpServer } from '@kube-dns/daemon';
import { until } from '@kube-dns/testkit';
import { boundTcp } from '../../test/support/bound-port.js';
import { type RecordedLog, recordedLog } from '../../test/support/recorded-log.js';
import { startProfilingServer } from './profiling-server.js';

let log: RecordedLog;
let server: HttpServer | undefined;
beforeEach(async () => {
  log = recordedLog();
  server = await startProfilingServer(log, 0);
});
afterEach(() => server?.close());

const get = (path: string, init?: RequestInit) =>
  fetch(`http://127.0.0.1:${server!.port}${path}`, init);

describe('the profiling server', () => {
  it('takes a CPU profile for the requested seconds', async () => {
    const startedMs = performance.now();
    const response = await get('/debug/pprof/profile?seconds=1');
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(990);
    expect(response.headers.get('content-disposition')).toContain('kubedns.cpuprofile');
    const profile = (await response.json()) as { nodes: unknown[]; samples: unknown[] };
    expect(profile.nodes.length).toBeGreaterThan(0);
    expect(profile.samples.length).toBeGreaterThan(0);
  });

  it('takes one profile at a time, and ends that of a client that disconnects', async () => {
    const leaving = new AbortController();
    const first = get('/debug/pprof/profile?seconds=100', { signal: leaving.signal });
    // Answered behind the first request, so that one has begun.
    await get('/debug/memory');
    await until('another in progress', async () => {
      const asking = AbortSignal.timeout(200);
      const path = '/debug/pprof/profile?seconds=100';
      const second = await get(path, { signal: asking }).catch(() => undefined);
      return second?.status === 429;
    });
    leaving.abort();
    await expect(first).rejects.toThrow();
    await until('the place is free', async () => {
      return (await get('/debug/pprof/profile?seconds=1')).status === 200;
    });
  });

  it.each(['0', '121', '-1', 'x', '1&seconds=2', ''])('refuses seconds=%s', async (text) => {
    const response = await get(`/debug/pprof/profile?seconds=${text}`);
    expect([response.status, await response.text()]).toEqual([400, 'seconds must be 1 to 120\n']);
  });

  it('serves memory figures and an index', async () => {
    const memory = (await (await get('/debug/memory')).json()) as { rss: number; heap: object };
    expect(memory.rss).toBeGreaterThan(1e6);
    expect(memory.heap).toHaveProperty('heap_size_limit');
    expect(await (await get('/debug/pprof/')).text()).toContain('/debug/pprof/profile?seconds=N');
    expect((await get('/')).status).toBe(404);
  });

  it('continues without it when its port is taken', async () => {
    const { port, close } = await boundTcp();
    expect(await startProfilingServer(log, port)).toBeUndefined();
    expect(log.lines.at(-1)).toMatch(/^W profiling: cannot listen on .*; continuing without it$/);
    await close();
  });
});
