import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  Dnsmasq,
  freePort,
  Kubedns,
  NodeCache,
  Owned,
  type RunningProgram,
  Sidecar,
} from '@kube-dns/testkit';
import { type RunningApiServer, startApiServer } from './support/api-server.js';

/** What a curious client tries: pages of ours, of the originals' and of other servers. */
const TRIED = [
  ...[
    '/',
    '/status',
    '/readiness',
    '/cache',
    '/metrics',
    '/healthz',
    '/healthcheck/dns',
    '/healthcheck/other',
    '/subscribers',
    '/subscriptions',
    '/health',
    '/ready',
  ],
  ...[
    '/debug/pprof/',
    '/debug/pprof/profile',
    '/debug/vars',
    '/config',
    '/env',
    '/..%2f..%2fetc/passwd',
  ],
];
const TOKEN = 'a-token-that-must-not-leak';
const PASSWORD = 'a-password-that-must-not-leak';
const COOKIE_SECRET = '00112233445566778899aabbccddeeff';
const TSIG_SECRET = 'q8Z0N1Yw7m+Rk3vXh2T9sLbQpEwUaJcF5dGiKoMnB4A=';
/** What a ConfigMap, or the answer of a broken API server, can bring into an error. */
const JWT = 'eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJl';
const SECRETS = [TOKEN, PASSWORD, COOKIE_SECRET, TSIG_SECRET, JWT];

const owned = new Owned();
/** The ports with pages. */
const ports: Record<string, number> = {};
let programs: readonly RunningProgram[];
let api: RunningApiServer;
let folder: string;

/** As in a pod: with a token for the API server. */
function kubeconfig(): string {
  const path = join(folder, 'kubeconfig');
  const config = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: api.url } }],
    users: [{ name: 'u', user: { token: TOKEN } }],
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}

/** A ConfigMap that is refused, with secrets where they do not belong. */
function configFolder(): string {
  const path = join(folder, 'config');
  mkdirSync(path);
  const stubDomains = { 'a.test': [`https://user:${PASSWORD}@10.0.0.1/`, `Bearer ${JWT}`] };
  writeFileSync(join(path, 'stubDomains'), JSON.stringify(stubDomains));
  writeFileSync(join(path, 'password'), PASSWORD);
  return path;
}

function secretFile(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kube-dns-pages-'));
  api = await startApiServer();
  const kubedns = owned.add(
    await Kubedns.start({
      flags: [
        `--kubecfg-file=${kubeconfig()}`,
        `--config-dir=${configFolder()}`,
        `--cookie-secret-file=${secretFile('cookie', COOKIE_SECRET)}`,
        `--notify-key=${secretFile('key', `key "k" { algorithm hmac-sha256; secret "${TSIG_SECRET}"; };`)}`,
        '--notify=127.0.0.1#9',
        '--v=2',
      ],
      env: { API_PASSWORD: PASSWORD },
    }),
  );
  const dnsmasq = owned.add(
    await Dnsmasq.start({
      nannyFlags: [`-configDir=${join(folder, 'config')}`],
      args: [`--cookie-secret-file=${join(folder, 'cookie')}`],
    }),
  );
  const dnsmasqPort = dnsmasq.ports.dns;
  const probes = [`dns,127.0.0.1:${dnsmasqPort},a.test,5,A`];
  const sidecar = owned.add(await Sidecar.start({ dnsmasqPort, probes }));
  const cache = owned.add(await NodeCache.create());
  const { dns, health, metrics, setup } = cache.ports;
  Object.assign(ports, {
    readiness: kubedns.ports.readiness,
    kubednsMetrics: kubedns.ports.metrics,
    dnsmasqMetrics: dnsmasq.ports.metrics,
    sidecar: sidecar.port,
    nodeHealth: health,
    nodeReady: await freePort(),
    nodeMetrics: metrics,
    nodeSetup: setup,
  });
  const block = [
    ...['bind 127.0.0.1', 'forward . 127.0.0.1:9', `health 127.0.0.1:${health}`],
    ...[`ready 127.0.0.1:${ports.nodeReady}`, `prometheus 127.0.0.1:${metrics}`],
  ];
  await cache.putTemplate(`.:${dns} {\n${block.join('\n')}\n}\n`);
  programs = [kubedns.server, dnsmasq.server, sidecar.server, await cache.start()];
  await kubedns.server.waitForLine(/serving \/metrics on port/);
  await dnsmasq.server.waitForLine(/serving \/metrics on port/);
  await sidecar.ready();
});

afterAll(async () => {
  await owned.close();
  await api.close();
  rmSync(folder, { recursive: true });
});

describe.each([
  ['readiness', ['/cache', '/readiness', '/subscribers']],
  ['kubednsMetrics', ['/', '/metrics', '/status']],
  ['dnsmasqMetrics', ['/', '/metrics', '/status', '/subscribers', '/subscriptions']],
  ['sidecar', ['/', '/healthcheck/dns', '/healthz', '/metrics', '/status']],
  ['nodeHealth', ['/health', '/ready']],
  ['nodeReady', ['/health', '/ready']],
  ['nodeMetrics', ['/', '/metrics', '/status', '/subscriptions']],
  ['nodeSetup', ['/', '/metrics', '/status', '/subscriptions']],
] as const)('the port of %s', (name, known) => {
  it('has these pages and no others', async () => {
    const there: string[] = [];
    for (const path of TRIED) {
      const response = await fetch(`http://127.0.0.1:${ports[name]}${path}`);
      const text = await response.text();
      for (const secret of SECRETS) expect(text).not.toContain(secret);
      if (response.status !== 404) there.push(path);
    }
    expect(there.sort()).toEqual([...known]);
  });
});

it('the status page says what was refused, without the secrets in it', async () => {
  for (const port of [ports.kubednsMetrics, ports.dnsmasqMetrics]) {
    const text = await (await fetch(`http://127.0.0.1:${port}/status`)).text();
    expect(text).toContain('https://***@10.0.0.1/');
  }
});

it('the log has no token in it', () => {
  expect(programs.map(({ output }) => output).join('')).not.toContain(TOKEN);
});
