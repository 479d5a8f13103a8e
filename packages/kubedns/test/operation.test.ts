import { createServer } from 'node:net';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { endPrograms, freePort, ScriptedNameServer, until } from '@kube-dns/testkit';
import { boundTcp } from './support/bound-port.js';
import { itOverIPv6 } from './support/ipv6.js';
import { startKubedns } from './support/kubedns-process.js';

const KUBERNETES = 'kubernetes.default.svc.cluster.local';

let api: ApiServer;
let upstream: ScriptedNameServer;
beforeAll(async () => {
  api = await createApiServer();
  upstream = await ScriptedNameServer.start();
});
afterEach(() => endPrograms());
afterAll(async () => {
  await upstream.close();
  await api.close();
});

const start = (args?: readonly string[], env?: NodeJS.ProcessEnv) =>
  startKubedns(api, upstream, args, env);

describe('a program without the flags and variables below', () => {
  it('has the cache on its readiness port, and neither metrics nor a profiler', async () => {
    const kubedns = await start().ready();
    const [status, body] = await kubedns.get('/cache');
    expect(status).toBe(200);
    expect(() => JSON.parse(body) as unknown).not.toThrow();
    for (const path of ['/', '/healthz', '/metrics', '/debug/pprof/', '/readiness/']) {
      expect(await kubedns.get(path)).toEqual([404, '404 page not found\n']);
    }
    expect(kubedns.program.stderr).not.toMatch(/metrics|profiling/);
  });
});

describe('the metrics port', () => {
  it('is not opened for an invalid port, which is logged', async () => {
    const kubedns = await start([], { PROMETHEUS_PORT: 'tcp://10.0.0.1:9090' }).ready();
    expect(kubedns.program.stderr).toMatch(
      /PROMETHEUS_PORT=tcp:\/\/10\.0\.0\.1:9090 is not a port/,
    );
  });

  it('does not stop DNS when it is taken', async () => {
    const { port, close } = await boundTcp();
    try {
      const kubedns = await start([], { PROMETHEUS_PORT: String(port) }).ready();
      await kubedns.waitForLine(
        /W.* metrics: cannot listen on :\d+: address already in use; continuing/,
      );
      expect((await kubedns.ask(KUBERNETES, 'A')).answers).toHaveLength(1);
    } finally {
      await close();
    }
  });
});

describe('--profiling', () => {
  it('opens its port, or logs that it cannot', async () => {
    const kubedns = await start(['--profiling']).ready();
    expect(kubedns.program.stderr).toMatch(
      /profiling on http:\/\/127\.0\.0\.1:6060\/|W.* profiling: /,
    );
  });
});

describe('arguments that are no flags', () => {
  it('are named in the log and change nothing', async () => {
    const kubedns = await start(['serve', 'now']).ready();
    expect(kubedns.program.stderr).toMatch(/^W.* ignored arguments: serve now$/m);
  });
});

describe('--dns-bind-address', () => {
  itOverIPv6.each(['[::1]'])('takes %s', async (address) => {
    const kubedns = await start([`--dns-bind-address=${address}`]).ready();
    expect((await kubedns.ask(KUBERNETES, 'A', {}, '::1')).answers).toHaveLength(1);
  });

  // The other forms of every address: bindAddress.
  itOverIPv6.each(['', '0.0.0.0'])('takes "%s" for all addresses of both families', async (any) => {
    const kubedns = await start([`--dns-bind-address=${any}`]).ready();
    for (const address of ['::1', '127.0.0.1']) {
      for (const isOverTcp of [false, true]) {
        const { answers } = await kubedns.ask(KUBERNETES, 'A', { isOverTcp }, address);
        expect(answers).toHaveLength(1);
      }
    }
  });
});

describe('an API server that accepts connections and is silent', () => {
  it('does not affect anything else', async () => {
    const silent = createServer((socket) => socket.on('error', () => undefined).resume()).listen(
      0,
      '127.0.0.1',
    );
    await once(silent, 'listening');
    const address = silent.address();
    const port = typeof address === 'object' ? address!.port : 0;
    const metricsPort = await freePort();
    const kubedns = start(
      [`--kube-master-url=http://127.0.0.1:${port}`, '--initial-sync-timeout=0'],
      { PROMETHEUS_PORT: String(metricsPort) },
    );
    expect((await kubedns.get('/readiness'))[0]).toBe(503);
    expect((await kubedns.ask('example.com', 'A')).rcode).toBe('NXDOMAIN');
    const text = await until('metrics', async () => {
      const response = await fetch(`http://127.0.0.1:${metricsPort}/metrics`).catch(
        () => undefined,
      );
      return response?.text();
    });
    expect(text).toMatch(/^kubedns_ready 0$/m);
    await endPrograms();
    silent.close();
  });
});
