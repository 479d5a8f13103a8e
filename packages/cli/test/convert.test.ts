import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { runProgram } from '@kube-dns/testkit';
import { findObject, STOCK_FILE, STOCK_OBJECTS } from '@kube-dns/testkit/manifests';
import { runHere } from './support/run-command.js';

const STANDARD = fileURLToPath(new URL('fixtures/standard.Corefile', import.meta.url));
/** A patch of it takes the place of all arguments. */
const MANIFEST = new URL('../../../manifests/kube-dns/deployment.yaml', import.meta.url);
const PACKAGES = fileURLToPath(new URL('../..', import.meta.url));
const CONFIG_MAP = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'kube-dns' },
  data: {
    stubDomains: '{"acme.local":["127.0.0.1:5399"]}',
    upstreamNameservers: '["127.0.0.1:5398"]',
  },
};

let folder: string;
const at = (name: string) => `${folder}/${name}`;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kube-dns-convert-'));
  writeFileSync(at('map.json'), JSON.stringify(CONFIG_MAP));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Runs it with `./NAME` for a file of the folder, in its arguments and in what it prints. */
async function run(...args: readonly string[]) {
  const placed = args.map((arg) => (arg.startsWith('./') ? at(arg.slice(2)) : arg));
  const { status, stdout, stderr } = await runHere(['convert', ...placed]);
  const shown = (text: string) => text.replaceAll(`${folder}/`, './');
  return { status, stdout: shown(stdout), stderr: shown(stderr) };
}

interface PodPatch {
  readonly spec: {
    readonly template: {
      readonly spec: { readonly containers: { name: string; args: string[] }[] };
    };
  };
}

function containersOf(deployment: unknown) {
  return (deployment as PodPatch).spec.template.spec.containers;
}

/** What `--to configmap` wrote: the data, and the arguments by container. */
function readPod(text: string) {
  const [map, patch] = [...parseAllDocuments(text)].map((each) => each.toJS() as unknown);
  const containers = containersOf(patch);
  const data = (map as { data: Record<string, string> }).data;
  return { data, args: new Map(containers.map(({ name, args }) => [name, args])) };
}

/** Runs one of our bundles to its end: the status and what is on stderr. */
async function runBundle(name: string, args: readonly string[]) {
  const file = join(PACKAGES, name, 'dist', `${name}.cjs`);
  const { end: status, stderr } = await runProgram(process.execPath, [file, ...args]);
  return { status, stderr };
}

describe('kube-dns convert', () => {
  it('writes a Corefile of a ConfigMap and a Deployment, ends with 0 and says nothing', async () => {
    writeFileSync(
      at('pod.json'),
      JSON.stringify(findObject(STOCK_OBJECTS, 'Deployment', 'kube-dns')),
    );
    const { status, stdout, stderr } = await run('--to', 'corefile', './map.json', './pod.json');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('acme.local:53 {');
    expect(stdout).toContain('forward . 127.0.0.1:5398 {');
  });

  it('names what is lost on stderr and in comments, and ends with 1', async () => {
    const line = '-k --cache-size=10 --bogus-priv';
    const { status, stdout, stderr } = await run('--to=corefile', './map.json', '--args', line);
    const message =
      'not carried over: --bogus-priv: the standard plugins of CoreDNS have no counterpart\n';
    expect({ status, stderr }).toEqual({ status: 1, stderr: message });
    expect(stdout.startsWith(`# ${message}# To apply it, save it as Corefile and run:\n`)).toBe(
      true,
    );
    expect(stdout).toMatch(/\n\n\.:53 \{\n/);
  });

  it('writes a ConfigMap and arguments that our programs start with', async () => {
    const { status, stdout } = await run('--to=configmap', STANDARD);
    expect(status).toBe(0);
    const { args } = readPod(stdout);
    const [manifest] = parseAllDocuments(readFileSync(MANIFEST, 'utf8'));
    for (const { name, args: words } of containersOf(manifest!.toJS())) {
      const names = words.map((word) => /^--?[^=]*/.exec(word)?.[0] ?? word);
      const written = (args.get(name) ?? []).map((word) => /^--?[^=]*/.exec(word)?.[0] ?? word);
      const missing = names.filter(
        (each) => /^-(?!-(?:no-)?negcache)/.test(each) && !written.includes(each),
      );
      expect({ name, missing }).toEqual({ name, missing: [] });
    }
    const dnsmasq = await runBundle('dnsmasq', [...(args.get('dnsmasq') ?? []), '--test']);
    expect(dnsmasq).toEqual({ status: 0, stderr: expect.stringContaining('syntax check OK') });
    expect((await runBundle('kubedns', [...(args.get('kubedns') ?? []), '--version'])).status).toBe(
      0,
    );
    expect((await runBundle('sidecar', [...(args.get('sidecar') ?? []), '--version'])).status).toBe(
      0,
    );
  });

  it('writes the template of node-cache from the configuration of AKS LocalDNS', async () => {
    const cluster = {
      queryLogging: 'Error',
      protocol: 'ForceTCP',
      forwardDestination: 'ClusterCoreDNS',
    };
    const rest = { forwardPolicy: 'RoundRobin', maxConcurrent: 50, cacheDurationInSeconds: 30 };
    const profile = {
      mode: 'Required',
      vnetDNSOverrides: { '.': { queryLogging: 'Log', serveStale: 'Verify', newKey: 1 } },
      kubeDNSOverrides: { 'cluster.local': { ...cluster, ...rest, serveStale: 'Disable' } },
    };
    const put = (value: object) =>
      writeFileSync(at('localdnsconfig.json'), JSON.stringify({ localDNSProfile: value }));
    put(profile);
    const { status, stdout, stderr } = await run('--from', './localdnsconfig.json');
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr:
        'not carried over: ./localdnsconfig.json: vnetDNSOverrides: .: newKey: node-cache has no counterpart\n',
    });
    const [root = '', zone = ''] = stdout
      .replace(/^#.*\n/gm, '')
      .trim()
      .split(/\n\n/);
    expect(root.replaceAll(/\s+/g, ' ')).toBe(
      '.:53 { health 169.254.10.10:8080 log errors bind 169.254.10.10 ' +
        'forward . __PILLAR__UPSTREAM__SERVERS__ { prefer_udp policy sequential max_concurrent 1000 } ' +
        'cache 3600 { success 9984 denial 9984 serve_stale 3600s verify } loop reload prometheus :9253 }',
    );
    expect(zone.replaceAll(/\s+/g, ' ')).toBe(
      'cluster.local:53 { errors bind 169.254.10.11 ' +
        'forward . __PILLAR__CLUSTER__DNS__ { force_tcp policy round_robin max_concurrent 50 } ' +
        'cache 30 { success 9984 denial 9984 } loop reload prometheus :9253 }',
    );
    for (const [value, message] of [
      [{}, 'it is no configuration of LocalDNS'],
      [{ kubeDNSOverrides: { '.': { protocol: 'x' } } }, 'protocol is "x", none of'],
      [{ kubeDNSOverrides: { '.': { maxConcurrent: -1 } } }, 'maxConcurrent is -1, not a whole'],
    ] as const) {
      put(value);
      const refused = await run('--from', './localdnsconfig.json');
      expect(refused.status).toBe(2);
      expect(refused.stderr).toContain(message);
    }
  });

  it('says what becomes of the query log', async () => {
    const data = { queryLog: 'json,sample=10' };
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'kube-dns' }, data };
    writeFileSync(at('log.json'), JSON.stringify(map));
    const { status, stdout, stderr } = await run('--to=corefile', './log.json');
    expect(stderr).toBe(
      'differs: queryLog: the plugin log writes a line for each answer in its own form, not as json, without sample=10\n',
    );
    expect(status).toBe(0);
    expect(stdout).toMatch(/^ {4}log$/m);
  });

  it('converts back to the original ConfigMap', async () => {
    const there = await run('--to=corefile', './map.json');
    writeFileSync(at('Corefile'), there.stdout);
    const back = await run('--to=configmap', './Corefile');
    expect(back.status).toBe(0);
    expect(readPod(back.stdout).data).toEqual(CONFIG_MAP.data);
  });

  it('reads a Corefile where kubectl shows it, in a ConfigMap', async () => {
    const data = { Corefile: readFileSync(STANDARD, 'utf8') };
    const map = { ...CONFIG_MAP, metadata: { name: 'coredns' }, data };
    writeFileSync(
      at('list.json'),
      JSON.stringify({ kind: 'List', apiVersion: 'v1', items: [map] }),
    );
    const [plain, wrapped] = [
      await run('--to=configmap', STANDARD),
      await run('--to=configmap', './list.json'),
    ];
    expect(wrapped.stdout).toBe(plain.stdout);
  });

  it('follows imports to files beside the Corefile', async () => {
    writeFileSync(at('Corefile'), '.:53 {\nkubernetes a.b\nimport forwards/*.conf\n}\n');
    mkdirSync(at('forwards'));
    writeFileSync(at('forwards/one.conf'), 'forward . 10.0.0.1\n');
    writeFileSync(at('forwards/README'), 'not this\n');
    const { status, stdout, stderr } = await run('--to=configmap', './Corefile');
    expect([status, stderr]).toEqual([0, '']);
    expect(readPod(stdout).data).toEqual({ upstreamNameservers: '["10.0.0.1"]' });
  });

  it('follows imports to the other keys of the ConfigMap, and to coredns-custom', async () => {
    const map = (name: string, data: Record<string, string>) => ({
      ...CONFIG_MAP,
      metadata: { name },
      data,
    });
    const corefile =
      '.:53 {\nkubernetes a.b\nforward . 10.0.0.1\nimport custom/*.override\nimport own\n}\n' +
      'import /etc/coredns/custom/*.server\n';
    const items = [
      map('coredns', { Corefile: corefile, own: 'log\n' }),
      map('coredns-custom', {
        'a.override': 'cache 20\n',
        'b.server': 'corp:53 {\nforward . 10.0.0.2\n}\n',
      }),
    ];
    writeFileSync(at('list.json'), JSON.stringify({ kind: 'List', apiVersion: 'v1', items }));
    const { status, stdout, stderr } = await run('--to=configmap', './list.json');
    expect([status, stderr]).toEqual([0, '']);
    const { data, args } = readPod(stdout);
    expect(data.stubDomains).toBe('{"corp":["10.0.0.2"]}');
    expect(args.get('dnsmasq')).toEqual(expect.arrayContaining(['--log-queries', '--max-ttl=20']));
  });

  it('carries the hosts file that is in the ConfigMap, as that of k3s, and says what it does with it', async () => {
    const corefile =
      '.:53 {\nkubernetes cluster.local\nhosts /etc/coredns/NodeHosts {\nttl 60\nreload 15s\nfallthrough\n}\n' +
      'forward . /etc/resolv.conf {\nprefer_udp\n}\nreload 15s\nlog . {\nclass denial error\n}\n}\n';
    const data = {
      Corefile: corefile,
      NodeHosts: '192.168.0.10 node-a\n# none\nfd00::a node-a a\n',
    };
    const map = { ...CONFIG_MAP, metadata: { name: 'coredns' }, data };
    writeFileSync(at('k3s.json'), JSON.stringify(map));
    const { status, stdout, stderr } = await run('--to=configmap', './k3s.json');
    const args = readPod(stdout).args.get('dnsmasq')!;
    expect(args.filter((arg) => arg.includes('host'))).toEqual([
      '--host-record=node-a,192.168.0.10',
      '--host-record=node-a,a,fd00::a',
    ]);
    expect(stderr).toContain('the lines of /etc/coredns/NodeHosts are arguments');
    expect(stderr).toMatch(/not carried over: line 5: reload 15s/);
    expect(stderr).toMatch(/differs: line 11: reload 15s/);
    expect(stderr).toMatch(/differs: line 12: log .*: dnsmasq logs every query in its own form/);
    expect(status).toBe(1);
    writeFileSync(at('Corefile'), corefile);
    const alone = await run('--to=configmap', './Corefile');
    expect(alone.stderr).toContain(
      'mount /etc/coredns/NodeHosts into the container dnsmasq: the pod has no such file',
    );
    expect(readPod(alone.stdout).args.get('dnsmasq')).toContain(
      '--addn-hosts=/etc/coredns/NodeHosts',
    );
  });

  it('keeps the arguments of the nanny that our manifest has', async () => {
    const file = new URL('../../../manifests/kube-dns/deployment.yaml', import.meta.url);
    const stock = parseAllDocuments(readFileSync(file, 'utf8'))[0]!.toJS() as PodPatch;
    const { containers } = stock.spec.template.spec;
    const words = containers.find(({ name }) => name === 'dnsmasq')!.args;
    const expected = words.slice(0, words.indexOf('--'));
    const { stdout } = await run('--to=configmap', STANDARD);
    const args = readPod(stdout).args.get('dnsmasq')!;
    expect(expected[0]).toBe('-metrics-addr=127.0.0.1:10056');
    expect(args.slice(0, args.indexOf('--'))).toEqual(expected);
  });

  it('reads stdin where the file is -', async () => {
    const args = ['convert', '--to=corefile', '-'];
    const { stdout } = await runHere(args, JSON.stringify(CONFIG_MAP));
    expect(stdout).toContain('acme.local:53 {');
  });

  it('writes our manifests of an older one', async () => {
    const { status, stdout } = await run('--manifest', STOCK_FILE);
    expect(status).toBe(0);
    const kinds = [...stdout.matchAll(/^kind: (.*)$/gm)].map((match) => match[1]);
    expect(kinds).toEqual(expect.arrayContaining(['Deployment', 'Service', 'ClusterRole']));
  });

  it.each([
    [
      ['--to=corefile', './no.yaml'],
      'kube-dns: cannot read ./no.yaml: no such file or directory\n',
    ],
    [['--to=corefile', './'], 'kube-dns: cannot read ./: is a directory\n'],
    [
      ['--to=configmap', './broken'],
      'kube-dns: ./broken: line 1: the brace that opens here is not closed\n',
    ],
    [
      ['--to=configmap', './map.json'],
      'kube-dns: ./map.json: there is no ConfigMap with the key Corefile in it; probably meant: --to corefile\n',
    ],
    [
      ['--to=corefile', './coredns.json'],
      'kube-dns: ./coredns.json: ConfigMap coredns has a Corefile, which is what --to corefile writes; ' +
        'probably meant: --to configmap\n',
    ],
    [
      ['--to=corefile', STANDARD],
      `kube-dns: ${STANDARD}: this is a Corefile; probably meant: --to configmap\n`,
    ],
    [
      ['--to=configmap', './text.yaml'],
      'kube-dns: ./text.yaml: this is no Corefile: there is no plugin of CoreDNS in it\n',
    ],
    [['--to=configmap', './binary'], /^kube-dns: \.\/binary: [^\n]+\n$/],
    [
      ['--to=configmap', './unset'],
      'kube-dns: ./unset: line 2: {$KUBE_DNS_TEST_UNSET} is not set: ' +
        'set it in the environment as the pod of CoreDNS has it\n',
    ],
    [
      ['--to=corefile', './other.json'],
      'kube-dns: there is no ConfigMap kube-dns and no pod of kube-dns: ConfigMap kube-root-ca.crt\n',
    ],
    [['--to=corefile', './empty'], /^[^\n]*no pod of kube-dns; the input has no objects\n$/],
    [
      ['--manifest', './map.json'],
      'kube-dns: there is no kube-dns pod among the objects: ConfigMap kube-dns\n',
    ],
    [['--to=corefile', './wrong.yaml'], /^kube-dns: \.\/wrong\.yaml: line 2, column \d+: .*\n$/],
    [
      ['--to=corefile', './text.yaml'],
      'kube-dns: ./text.yaml: neither YAML nor JSON of objects of Kubernetes\n',
    ],
    [
      ['--to=corefile', './bad.json'],
      /^kube-dns: \.\/bad\.json: ConfigMap kube-dns: stubDomains: not JSON: .*\n$/,
    ],
    [['--to=corefile', '--args', "'"], "kube-dns: --args: the quote ' does not end\n"],
    [['--to=x', './map.json'], 'kube-dns: --to x: must be corefile or configmap\n'],
    [['./map.json'], 'kube-dns: --to, --manifest or --from is missing\n'],
    [['--to=corefile'], 'kube-dns: a file is missing\n'],
    [['--shape=x'], 'kube-dns: unknown flag --shape; see kube-dns convert --help\n'],
  ])('refuses %j with 2 and one line, and writes nothing', async (args, message) => {
    writeFileSync(at('broken'), '. {\n');
    writeFileSync(at('wrong.yaml'), 'kind: [\n');
    writeFileSync(at('text.yaml'), 'just text\n');
    writeFileSync(at('empty'), '');
    const bad = { ...CONFIG_MAP, data: { stubDomains: '{' } };
    writeFileSync(at('bad.json'), JSON.stringify(bad));
    writeFileSync(at('binary'), Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 7) % 256)));
    writeFileSync(at('unset'), '. {\nforward . {$KUBE_DNS_TEST_UNSET}\n}\n');
    const named = (name: string, key: string) =>
      JSON.stringify({ ...CONFIG_MAP, metadata: { name }, data: { [key]: '. {\nlog\n}\n' } });
    writeFileSync(at('coredns.json'), named('coredns', 'Corefile'));
    writeFileSync(at('other.json'), named('kube-root-ca.crt', 'ca.crt'));
    const { status, stdout, stderr } = await run(...args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(message);
  });
});
