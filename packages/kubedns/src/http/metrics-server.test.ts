import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createRegistry } from '@kube-dns/daemon';
import { freePort } from '../../test/support/bound-port.js';
import { type KeptLog, keptLog } from '../../test/support/kept-log.js';
import { until } from '../../test/support/until.js';
import { MetricsServer } from './metrics-server.js';

let log: KeptLog;
let servers: MetricsServer[];
beforeEach(() => {
  log = keptLog();
  servers = [];
});
afterEach(async () => {
  for (const server of servers) {
    await server.close();
    await server.close();
  }
});

function create(port: number, path = '/metrics'): MetricsServer {
  const server = new MetricsServer({
    environment: { port, path },
    registry: createRegistry(),
    log,
    retryMs: 20,
  });
  servers.push(server);
  return server;
}

describe('MetricsServer', () => {
  it('serves the metrics at its path, whatever that holds, and nothing elsewhere', async () => {
    const port = await freePort();
    await create(port, '/a.b/:c+*').start();
    const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
    const response = await get('/a.b/:c+*?x=1');
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(await response.text()).toMatch(/^process_resident_memory_bytes \d/m);
    for (const path of ['/', '/metrics', '/a.b/xc+', '/readiness', '/debug/pprof/']) {
      const other = await get(path);
      expect([other.status, await other.text()]).toEqual([404, '404 page not found\n']);
    }
  });

  it('goes on without a port that is taken, says so once, and takes it when it is free', async () => {
    const blocker = createServer().listen(0, '::');
    await once(blocker, 'listening');
    const { port } = blocker.address() as AddressInfo;
    await create(port).start();
    expect(log.lines).toEqual([
      `W metrics: cannot listen on :${port}: address already in use; going on without, trying again`,
    ]);
    await once(blocker.close(), 'close');
    await until('served', () => log.lines.includes(`I serving /metrics on port ${port}`));
    expect((await fetch(`http://127.0.0.1:${port}/metrics`)).status).toBe(200);
    expect(log.lines).toHaveLength(2);
  });

  it('does not try again once it is closed', async () => {
    const blocker = createServer().listen(0, '::');
    await once(blocker, 'listening');
    const { port } = blocker.address() as AddressInfo;
    const closed = create(port);
    await closed.start();
    await closed.close();
    await once(blocker.close(), 'close');
    // The port is another's for the taking.
    await create(port).start();
    expect(log.lines.at(-1)).toBe(`I serving /metrics on port ${port}`);
  });
});
