import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { until } from '@kube-dns/testkit';
import { createLog } from '../src/log.js';
import type { MetricFamily } from '../src/metrics/metric-family.js';
import { MetricsServer } from '../src/metrics/metrics-server.js';

let lines: string[];
let servers: MetricsServer[];
beforeEach(() => {
  lines = [];
  servers = [];
});
afterEach(async () => {
  for (const server of servers) {
    await server.close();
    await server.close();
  }
});

const log = createLog({
  name: 'test',
  verbosity: 0,
  write: (line) => lines.push(line.replace(/^(.).*?\] (.*)\n$/s, '$1 $2')),
});

function create(
  port: number,
  path = '/metrics',
  families: readonly MetricFamily[] = [],
): MetricsServer {
  const server = new MetricsServer({ host: '127.0.0.1', port, path, families, log, retryMs: 20 });
  servers.push(server);
  return server;
}

/** The port that the log names. */
const servedPort = () => /^I serving \S+ on port (\d+)$/.exec(lines.at(-1) ?? '')?.[1];

async function blockPort(): Promise<{ blocker: Server; port: number }> {
  const blocker = createServer().listen(0, '127.0.0.1');
  await once(blocker, 'listening');
  return { blocker, port: (blocker.address() as AddressInfo).port };
}

describe('MetricsServer', () => {
  it('serves the metrics at its path, whatever characters that has, and nothing elsewhere', async () => {
    await create(0, '/a.b/:c+*').start();
    const get = (path: string) => fetch(`http://127.0.0.1:${servedPort()}${path}`);
    const response = await get('/a.b/:c+*?x=1');
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(await response.text()).toMatch(/^process_resident_memory_bytes \d/m);
    for (const path of ['/', '/metrics', '/a.b/xc+', '/readiness', '/debug/pprof/']) {
      const other = await get(path);
      expect([other.status, await other.text()]).toEqual([404, '404 page not found\n']);
    }
  });

  it('serves pages as JSON at their paths, made at each request', async () => {
    let made = 0;
    const pages = new Map([['/state', () => `{"made":${++made}}`]]);
    const options = { host: '127.0.0.1', port: 0, path: '/metrics', families: [], log };
    const server = new MetricsServer({ ...options, pages });
    servers.push(server);
    await server.start();
    for (const expected of [1, 2]) {
      const response = await fetch(`http://127.0.0.1:${servedPort()}/state`);
      expect(response.headers.get('content-type')).toMatch(/^application\/json/);
      expect(await response.json()).toEqual({ made: expected });
    }
    expect((await fetch(`http://127.0.0.1:${servedPort()}/states`)).status).toBe(404);
  });

  it('continues without a port that is in use, logs that once, and opens it when it is free', async () => {
    const { blocker, port } = await blockPort();
    await create(port).start();
    expect(lines).toEqual([
      `W metrics: cannot listen on 127.0.0.1:${port}: address already in use; ` +
        'continuing without metrics, retrying',
    ]);
    await once(blocker.close(), 'close');
    await until(() => lines.includes(`I serving /metrics on port ${port}`));
    expect((await fetch(`http://127.0.0.1:${port}/metrics`)).status).toBe(200);
    expect(lines).toHaveLength(2);
  });

  it('does not try again once it is closed', async () => {
    const { blocker, port } = await blockPort();
    const closed = create(port);
    await closed.start();
    await closed.close();
    await once(blocker.close(), 'close');
    // Another server can open the port.
    await create(port).start();
    expect(lines.at(-1)).toBe(`I serving /metrics on port ${port}`);
  });

  it('serves its families and the metrics of the process', async () => {
    const family = { name: 'sample_total', help: 'S.', type: 'counter', collect: () => 7 } as const;
    await create(0, '/metrics', [family]).start();
    const response = await fetch(`http://127.0.0.1:${servedPort()}/metrics`);
    const text = await response.text();
    expect(text).toContain('# HELP sample_total S.\n# TYPE sample_total counter\nsample_total 7\n');
    expect(text).toContain('\nprocess_start_time_seconds ');
  });

  it('loads what it serves with at the first connection, where it is on demand', async () => {
    let reads = 0;
    const state = () => ({ status: 200, body: String(++reads) });
    const server = new MetricsServer({
      host: '127.0.0.1',
      port: 0,
      path: '/metrics',
      families: [],
      log,
      localPages: new Map([['/state', state]]),
      isOnDemand: true,
    });
    servers.push(server);
    await server.start();
    const url = `http://127.0.0.1:${servedPort()}`;
    // Several at the same time, before it is loaded, then on kept connections.
    const first = await Promise.all([1, 2, 3].map(() => fetch(`${url}/state`)));
    expect((await Promise.all(first.map((each) => each.text()))).sort()).toEqual(['1', '2', '3']);
    expect(await (await fetch(`${url}/state`)).text()).toBe('4');
    expect((await fetch(`${url}/metrics`)).status).toBe(200);
    await server.close();
    await expect(fetch(`${url}/state`)).rejects.toThrow();
  });

  it('closes before and while it loads', async () => {
    const onDemand = () => {
      const options = { host: '127.0.0.1', port: 0, path: '/metrics', families: [], log };
      return new MetricsServer({ ...options, isOnDemand: true });
    };
    const unused = onDemand();
    await unused.start();
    await unused.close();
    const loading = onDemand();
    await loading.start();
    const asking = fetch(`http://127.0.0.1:${servedPort()}/metrics`);
    await Promise.all([loading.close(), asking.catch(() => undefined)]);
    await loading.close();
    await expect(fetch(`http://127.0.0.1:${servedPort()}/metrics`)).rejects.toThrow();
  });
});
