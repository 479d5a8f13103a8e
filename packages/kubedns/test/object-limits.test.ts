import { afterEach, describe, expect, it } from '@jest/globals';
import { endPrograms, freePort, until } from '@kube-dns/testkit';
import { closeAll, rawServer } from './support/follower.js';
import { KubednsProcess } from './support/kubedns-process.js';

afterEach(async () => {
  await endPrograms();
  await closeAll();
});

/** Those of the manifest: a program that stores more than its heap has ends. */
const NODE_OPTIONS = '--max-old-space-size=224 --max-semi-space-size=4';

/** A server with empty lists, and an endless one of slices, each with 1,000 hostnames. */
async function endlessServer(): Promise<string> {
  const endpoints = JSON.stringify(
    Array.from({ length: 1_000 }, (_, i) => ({
      addresses: [`10.0.${i >> 8}.${i & 255}`],
      hostname: `${'h'.repeat(56)}-${i}`,
    })),
  );
  let number = 0;
  const slice = () =>
    `{"metadata":{"namespace":"default","name":"web-${++number}","labels":` +
    `{"kubernetes.io/service-name":"web-${number}"}},"addressType":"IPv4","endpoints":${endpoints}}`;
  return rawServer((request, response) => {
    if (request.url?.includes('watch=true')) {
      response.flushHeaders();
      return;
    }
    const head = '{"metadata":{"resourceVersion":"1"},"items":[';
    if (!request.url?.includes('endpointslices')) return void response.end(`${head}]}`);
    response.write(`${head}${slice()}`);
    const more = () => {
      while (!response.destroyed && response.write(`,${slice()}`)) continue;
    };
    response.on('drain', more);
    more();
  });
}

describe('an endless list', () => {
  it('is given up at the limit with a clear error, in the heap of the manifest, and not ready', async () => {
    const metricsPort = await freePort();
    const kubedns = new KubednsProcess(
      [
        `--kube-master-url=${await endlessServer()}`,
        '--dns-port=0',
        '--healthz-port=0',
        '--dns-bind-address=127.0.0.1',
        '--nameservers=127.0.0.1:9',
        '--initial-sync-timeout=0',
      ],
      { NODE_OPTIONS, PROMETHEUS_PORT: String(metricsPort) },
    );
    await kubedns.program.waitForLine(
      /endpointslices: the objects take more than 67108864 bytes \(--max-stored-bytes\); not ready; next try in 60 s/,
    );
    expect((await kubedns.get('/readiness'))[0]).toBe(503);
    const page = await until('the metrics', async () => {
      const response = await fetch(`http://127.0.0.1:${metricsPort}/metrics`).catch(
        () => undefined,
      );
      return response?.text();
    });
    expect(page).toContain('kubedns_watch_over_limit{resource="endpointslices"} 1');
    expect(page).toContain(
      'kubedns_watch_restarts_total{resource="endpointslices",reason="full"} 1',
    );
  });
});
