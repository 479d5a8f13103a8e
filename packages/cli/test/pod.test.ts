import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ask, type ExchangeOptions, type Message, until, untilEqual } from '@kube-dns/testkit';
import { ConfigMapServers } from './support/config-map-change.js';
import { LocalPod } from './support/local-pod.js';
import { dataOf } from './support/record-data.js';
import { startCommand } from './support/run-command.js';

const TRY = fileURLToPath(new URL('../../../docs/try.md', import.meta.url));
const PATIENCE = { limitMs: 60_000 };
/** QR, AA, RD and RA; the last four bits are the rcode. */
const AUTHORITATIVE = 0x8580;
const NAME_ERROR = 3;
const pod = new LocalPod();
let servers: ConfigMapServers;

beforeAll(async () => {
  servers = await ConfigMapServers.start();
  await pod.prepare();
  await pod.start('--node-cache');
});

afterAll(async () => {
  await pod.close();
  await servers.close();
});

/** Asks dnsmasq, or another port, for `NAME [TYPE]`. */
function query(words: string, port = pod.ports.dns, more: ExchangeOptions = {}): Promise<Message> {
  const [name = '', type = 'A'] = words.split(' ');
  return ask(port, { name, type }, { ...PATIENCE, ...more });
}

/** What node-cache says, which may have asked dnsmasq while it was not ready. */
async function nodeAnswer(name: string): Promise<string> {
  const answer = await query(name, pod.ports.nodeDns);
  return [answer.rcode, ...dataOf(answer)].join(' ');
}

function get(path: string): Promise<Response> {
  return fetch(`http://127.0.0.1:${pod.ports.http}${path}`);
}

/** Runs a command that asks the programs of the pod, and says how long it took. */
async function run(...words: readonly string[]) {
  const startMs = performance.now();
  const command = startCommand(words);
  const status = await command.ended;
  return {
    status,
    stdout: command.stdout,
    stderr: command.stderr,
    ms: performance.now() - startMs,
  };
}

// First: the others ask for so many names that do not exist that check would say so.
describe('beside the pod of manifests/local', () => {
  const pages = () => [
    `--node-cache=${pod.ports.nodeSetup},${pod.ports.nodeMetrics}`,
    `--dnsmasq=${pod.ports.dnsmasqMetrics}`,
    `--kubedns=${pod.ports.readiness},${pod.ports.skydns}`,
  ];
  const name = 'catalog.shop.svc.cluster.local';

  it('kube-dns check says within two seconds that there are no findings', async () => {
    const help = await run('help');
    const api = `--api=http://127.0.0.1:${pod.ports.api}`;
    const check = await run('check', '--fail-on=warning', api, ...pages());
    expect([check.status, check.stderr]).toEqual([0, '']);
    expect(check.stdout).toMatch(/\nno findings; \d+ passed, \d+ not checked\n$/);
    for (const code of ['KD0103', 'KD0107', 'KD0116', 'KD0117', 'KD0118'])
      expect(check.stdout).toMatch(new RegExp(`^ok +${code} `, 'm'));
    // It takes five times as long as a command that does nothing; where that is slow, the machine is.
    expect(check.ms).toBeLessThan(Math.max(2_000, 20 * help.ms));
  });

  it('kube-dns top prints the questions of clients as lines where it is piped', async () => {
    for (let i = 0; i < 3; i++) await query(name, pod.ports.nodeDns);
    const { status, stdout, stderr } = await run('top', ...pages());
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^(?:(?:client|name|nxdomain) \d+ \S+\n)+$/);
    expect(stdout).toMatch(/^client \d+ 127\.0\.0\.1\n/);
    expect(stdout).toContain(`\nname 3 ${name}\n`);
  });

  it('kube-dns tail prints the answer to a question that is asked', async () => {
    await until('node-cache', async () => (await nodeAnswer(name)).startsWith('NOERROR '));
    const command = startCommand(['tail', name, '--count=1', ...pages()]);
    let status: number | string | null | undefined;
    void command.ended.then((end) => (status = end));
    while (status === undefined) await query(name, pod.ports.nodeDns);
    expect([status, command.stderr]).toEqual([0, '']);
    expect(command.stdout).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} 127\.0\.0\.1 A catalog\.shop\.svc\.cluster\.local\. NOERROR \S+ \d+\.\d ms\n$/,
    );
  });
});

describe('the pod of manifests/local', () => {
  it.each([
    ['a ClusterIP', 'kubernetes.default.svc.cluster.local', '10.96.0.1'],
    ['the reverse name', '1.0.96.10.in-addr.arpa PTR', 'kubernetes.default.svc.cluster.local'],
    [
      'a named port',
      '_https._tcp.web.shop.svc.cluster.local SRV',
      '10 100 443 web.shop.svc.cluster.local',
    ],
    ['an IPv6 address', 'catalog.shop.svc.cluster.local AAAA', 'fd00:10:96::20'],
    ['the name of a pod', 'db-1.db.data.svc.cluster.local', '10.244.2.32'],
    ['an ExternalName', 'payments.shop.svc.cluster.local CNAME', 'payments.example.com'],
  ])('answers %s', async (_what, words, answer) => {
    expect(dataOf(await query(words))).toEqual([answer]);
  });

  it('answers over TCP', async () => {
    const answer = await query('kubernetes.default.svc.cluster.local', pod.ports.dns, {
      isOverTcp: true,
    });
    expect(dataOf(answer)).toEqual(['10.96.0.1']);
  });

  it('answers a headless service with every ready address', async () => {
    const addresses = dataOf(await query('db.data.svc.cluster.local')).sort();
    expect(addresses).toEqual(['10.244.1.31', '10.244.2.32', '10.244.3.33']);
  });

  it('marks what comes from the zone as authoritative', async () => {
    // Not from the cache: nothing has asked for this before.
    expect((await query('web.shop.svc.cluster.local SRV')).flags).toBe(AUTHORITATIVE);
  });

  it.each([
    ['a name that does not exist', 'nothing.shop.svc.cluster.local', NAME_ERROR],
    ['a headless service without ready endpoints', 'search.shop.svc.cluster.local', NAME_ERROR],
    ['a type that the service does not have', 'web.shop.svc.cluster.local AAAA', 0],
    ['a namespace', 'shop.svc.cluster.local', 0],
  ])('has a negative answer with the SOA for %s', async (_what, words, rcode) => {
    const { flags, answers, authorities } = await query(words);
    expect([flags, answers]).toEqual([AUTHORITATIVE | rcode, []]);
    expect(authorities).toMatchObject([{ name: 'cluster.local', type: 'SOA' }]);
  });

  it('has node-cache in front, whose port is the one to ask', async () => {
    expect(pod.run?.stdout).toContain(`dig @127.0.0.1 -p ${pod.ports.nodeDns} +short kubernetes.`);
    await untilEqual('NOERROR 10.96.20.10', () => nodeAnswer('web.shop.svc.cluster.local'));
  });

  it('answers the health check of kubedns with JSON', async () => {
    const response = await get('/healthcheck/kubedns');
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      IsOk: true,
      LatencySeconds: expect.any(Number),
      Err: '',
    });
  });

  it('exposes the metrics of probes and cache', async () => {
    const text = await (await get('/metrics')).text();
    expect(text).toContain('kubedns_probe_kubedns_latency_ms_bucket{le="0.25"}');
    expect(text).toMatch(/^kubedns_dnsmasq_hits \d+$/m);
  });

  it('has the subscriptions that docs/try.md shows in the metrics of the sidecar', async () => {
    const pattern = /^kubedns_dnsmasq_subscriptions.*$/gm;
    const shown = readFileSync(TRY, 'utf8').match(pattern);
    await untilEqual(String(shown), async () =>
      String((await (await get('/metrics')).text()).match(pattern)),
    );
  });

  it('serves an object once its file is there, and forgets it with the file', async () => {
    const file = join(pod.objects, 'extra.yaml');
    const direct = async () =>
      String(dataOf(await query('extra.shop.svc.cluster.local', pod.ports.kubedns)));
    writeFileSync(
      file,
      `apiVersion: v1
kind: Service
metadata: { name: extra, namespace: shop }
spec: { clusterIP: 10.96.77.77, ports: [{ port: 80 }] }
`,
    );
    await untilEqual('10.96.77.77', direct);
    rmSync(file);
    await untilEqual('', direct);
  });
});

describe('a ConfigMap kube-dns in the local API', () => {
  it('takes effect as kubelet would mount it', async () => {
    const folder = `http://127.0.0.1:${pod.ports.api}/api/v1/namespaces/kube-system/configmaps`;
    const send = async (method: string, url: string, type: string, body?: object) => {
      const headers = { 'content-type': type };
      const text = body === undefined ? null : JSON.stringify(body);
      expect((await fetch(url, { method, headers, body: text })).ok).toBe(true);
    };
    const metadata = { name: 'kube-dns', namespace: 'kube-system' };
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata };
    const means = {
      create: (data: object) => send('POST', folder, 'application/json', { ...object, data }),
      patch: (data: object) =>
        send('PATCH', `${folder}/kube-dns`, 'application/merge-patch+json', { data }),
      remove: () => send('DELETE', `${folder}/kube-dns`, 'application/json'),
    };
    await servers.change(pod, means, async () => {
      await untilEqual('NOERROR 192.0.2.1', () => nodeAnswer('www.example.com'));
      // The target of an ExternalName is outside, too.
      const external = async () => String(dataOf(await query('payments.shop.svc.cluster.local')));
      await untilEqual('payments.example.com,192.0.2.1', external);
    });
  });
});

describe('a container that is killed', () => {
  /** The processes of a container so far, from the header of its log lines. */
  const pidsOf = (container: string): number[] => {
    const pattern = new RegExp(`^${container} +\\| [IWE]\\d+ [\\d:.]+ +(\\d+) `, 'gm');
    const matches = [...(pod.run?.stdout ?? '').matchAll(pattern)];
    return [...new Set(matches.map((match) => Number(match[1])))];
  };

  it('is restarted while the others run', async () => {
    const name = 'web.shop.svc.cluster.local';
    const [first = 0] = pidsOf('dnsmasq');
    process.kill(first, 'SIGKILL');
    expect(dataOf(await query(name, pod.ports.kubedns))).toEqual(['10.96.20.10']);
    await until('a second dnsmasq', () => pidsOf('dnsmasq').length === 2);
    const viaCache = async () => {
      const answer = await query(name, pod.ports.dns, { limitMs: 100 }).catch(() => undefined);
      return answer && String(dataOf(answer));
    };
    await untilEqual('10.96.20.10', viaCache);
    expect([pidsOf('kubedns').length, pidsOf('sidecar').length]).toEqual([1, 1]);
  });
});
