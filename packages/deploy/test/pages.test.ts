import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort, RunningProgram } from '@kube-dns/testkit';
import { type RunningApiServer, startApiServer } from './support/api-server.js';
import { ROOT } from './support/root.js';

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

const programs: RunningProgram[] = [];
const ports = {
  readiness: 0,
  kubednsMetrics: 0,
  dnsmasqMetrics: 0,
  sidecar: 0,
  nodeHealth: 0,
  nodeReady: 0,
  nodeMetrics: 0,
  nodeSetup: 0,
};
let api: RunningApiServer;
let folder: string;

function start(name: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): RunningProgram {
  const bundle = `${ROOT}packages/${name}/dist/${name}.cjs`;
  const program = new RunningProgram(name, process.execPath, [bundle, ...args], { env });
  programs.push(program);
  return program;
}

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
  for (const name of Object.keys(ports)) ports[name as keyof typeof ports] = await freePort();
  const kubedns = start(
    'kubedns',
    [
      `--kubecfg-file=${kubeconfig()}`,
      '--dns-bind-address=127.0.0.1',
      `--dns-port=${await freePort()}`,
      `--healthz-port=${ports.readiness}`,
      `--config-dir=${configFolder()}`,
      `--cookie-secret-file=${secretFile('cookie', COOKIE_SECRET)}`,
      `--notify-key=${secretFile('key', `key "k" { algorithm hmac-sha256; secret "${TSIG_SECRET}"; };`)}`,
      '--notify=127.0.0.1#9',
      '--v=2',
    ],
    { PROMETHEUS_PORT: String(ports.kubednsMetrics), API_PASSWORD: PASSWORD },
  );
  const dnsmasqPort = await freePort();
  const dnsmasq = start('dnsmasq', [
    `-metrics-addr=127.0.0.1:${ports.dnsmasqMetrics}`,
    `-configDir=${join(folder, 'config')}`,
    ...[
      '--',
      `--port=${dnsmasqPort}`,
      '--listen-address=127.0.0.1',
      '--bind-interfaces',
      '--no-resolv',
      `--cookie-secret-file=${join(folder, 'cookie')}`,
    ],
  ]);
  const sidecar = start('sidecar', [
    `--prometheus-port=${ports.sidecar}`,
    '--prometheus-addr=127.0.0.1',
    `--dnsmasq-port=${dnsmasqPort}`,
    `--probe=dns,127.0.0.1:${dnsmasqPort},a.test,5,A`,
  ]);
  const template = join(folder, 'Corefile.base');
  const block = [
    ...['bind 127.0.0.1', 'forward . 127.0.0.1:9', `health 127.0.0.1:${ports.nodeHealth}`],
    ...[`ready 127.0.0.1:${ports.nodeReady}`, `prometheus 127.0.0.1:${ports.nodeMetrics}`],
  ];
  writeFileSync(template, `.:${await freePort()} {\n${block.join('\n')}\n}\n`);
  const nodeCache = start('node-cache', [
    ...['-localip=127.0.0.1', '-setupinterface=false', '-setupiptables=false'],
    ...[`-basecorefile=${template}`, `-conf=${join(folder, 'Corefile')}`],
    `-metrics-listen-address=127.0.0.1:${ports.nodeSetup}`,
  ]);
  await nodeCache.waitForLine(/Running configuration/);
  await kubedns.waitForLine(/serving \/metrics on port/);
  await dnsmasq.waitForLine(/serving \/metrics on port/);
  await sidecar.waitForLine(/serving/);
});

afterAll(async () => {
  await Promise.all(programs.map((program) => program.close()));
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
