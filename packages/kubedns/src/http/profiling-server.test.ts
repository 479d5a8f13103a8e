import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { HttpServer } from '@kube-dns/daemon';
import { until } from '@kube-dns/testkit';
import { boundTcp } from '../../test/support/bound-port.js';
import { type RecordedLog, recordedLog } from '../../test/support/recorded-log.js';
import { startProfilingServer } from './profiling-server.js';

let log: RecordedLog;
let server: HttpServer | undefined;
/** The waits that were asked for, in ms; each lasts until its client is gone, or until `endWaits`. */
let waits: number[];
/** How many ended as their client had gone. */
let left: number;
let end: Promise<void>;
let endWaits: () => void;
beforeEach(async () => {
  log = recordedLog();
  waits = [];
  left = 0;
  end = new Promise((resolve) => (endWaits = resolve));
  server = await startProfilingServer(log, 0, (ms, signal) => {
    waits.push(ms);
    const gone = new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        left++;
        reject(new Error('the client is gone'));
      });
    });
    return Promise.race([end, gone]);
  });
});
afterEach(() => server?.close());

const get = (path: string, init?: RequestInit) =>
  fetch(`http://127.0.0.1:${server!.port}${path}`, init);

describe('the profiling server', () => {
  it.each([
    ['', 10_000],
    ['?seconds=1', 1_000],
  ])('takes a CPU profile for the requested seconds, ten unless given: "%s"', async (query, ms) => {
    const asked = get(`/debug/pprof/profile${query}`);
    await until('its beginning', () => waits.length === 1);
    endWaits();
    const response = await asked;
    expect(waits).toEqual([ms]);
    expect(response.headers.get('content-disposition')).toContain('kubedns.cpuprofile');
    const profile = (await response.json()) as { nodes: unknown[]; samples: unknown[] };
    expect(profile.nodes.length).toBeGreaterThan(0);
  });

  it('takes one profile at a time, and ends that of a client that disconnects', async () => {
    const path = '/debug/pprof/profile?seconds=100';
    const leaving = new AbortController();
    const first = get(path, { signal: leaving.signal });
    await until('its beginning', () => waits.length === 1);
    expect((await get(path)).status).toBe(429);
    leaving.abort();
    await expect(first).rejects.toThrow();
    await until('the end of the first', () => left === 1);
    endWaits();
    await until('the place is free', async () => (await get(path)).status === 200);
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
