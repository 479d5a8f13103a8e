import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createApiServer, type ApiServer } from '@kube-dns/apiserver';
import { stringify } from 'yaml';
import {
  addressRecords,
  EncryptedNameServer,
  freePort,
  LoopbackUpstream,
  needsPrograms,
  outputOf,
  TestAuthority,
  unless,
  untilEqual,
} from '@kube-dns/testkit';
import { containersOf, findObject, MANIFESTS, readObjects } from '@kube-dns/testkit/manifests';
import { BASE_DEPLOYMENT } from './support/base-deployment.js';
import { ROOT } from './support/root.js';
import {
  commandWith,
  NpxCommands,
  replaceAll,
  shellBlock,
  shellBlocks,
  type Replacements,
} from './support/shell-block.js';

const READY_MS = 45_000;
const KUBECONFIG = '$HOME/.kube/config';
const DOCUMENTS = [
  'README.md',
  'CONTRIBUTING.md',
  'manifests/README.md',
  'manifests/TROUBLESHOOTING.md',
];
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const readme = read('README.md');
const withDig = unless(needsPrograms('dig'), describe);

/** The anchors that GitHub makes of the headings of a Markdown file. */
function anchorsOf(file: string): string[] {
  const headings = [...readFileSync(file, 'utf8').matchAll(/^#+ (.*)$/gm)];
  return headings.map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .replaceAll(/\s/g, '-'),
  );
}

describe.each(DOCUMENTS)('%s', (document) => {
  it('links to what is there', () => {
    const links = [...read(document).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)];
    expect(links.length).toBeGreaterThan(0);
    for (const [link, path = '', anchor] of links) {
      const file = path === '' ? document : join(dirname(document), path);
      const place = resolve(ROOT, file);
      expect([link, existsSync(place)]).toEqual([link, true]);
      if (anchor !== undefined) expect(anchorsOf(place)).toContain(anchor);
    }
  });
});

it('CONTRIBUTING.md has the commands of the bench', () => {
  const commandsOf = (file: string) => {
    const table = /^\| Command .*?\n\n/ms.exec(read(file))?.[0] ?? '';
    return [...table.matchAll(/^\| `([a-z-]+)`/gm)].map(([, name]) => name);
  };
  const commands = commandsOf('CONTRIBUTING.md');
  expect(commands.length).toBeGreaterThan(1);
  expect(commands).toEqual(commandsOf('packages/bench/README.md'));
});

describe('README: Deploy', () => {
  const [look = [], bring = []] = shellBlocks(readme, 'Deploy');

  it('begins with one command that says what runs; manifest-where-coredns-runs has its output', () => {
    expect(look).toHaveLength(1);
    const cells = [...readme.matchAll(/^\| `(deployment\.apps\/[\w-]+|No resources found)`/gm)];
    expect(cells.map(([, shown]) => shown)).toEqual([
      'deployment.apps/coredns',
      'deployment.apps/kube-dns',
      'No resources found',
    ]);
  });

  it('brings the images to kind under the names that the manifest has', () => {
    const [build, load, ...others] = bring;
    expect([build, others]).toEqual(['npm run images', []]);
    const { scripts, version } = JSON.parse(read('package.json')) as {
      scripts: Record<string, string>;
      version: string;
    };
    expect(scripts).toHaveProperty('images');
    const named = containersOf(BASE_DEPLOYMENT).map(({ image }) => image);
    expect(load).toBe(`kind load docker-image ${named.join(' ')}`);
    for (const image of named) expect(image.endsWith(`:${version}`)).toBe(true);
  });
});

it('README: the table of programs has the ports that the manifest declares', () => {
  const text = readFileSync(join(MANIFESTS, 'kube-dns', 'deployment.yaml'), 'utf8');
  for (const { name, ports = [] } of containersOf(
    findObject(readObjects(text), 'Deployment', 'kube-dns'),
  )) {
    const cell = new RegExp(`^\\| \`${name}\` +\\|([^|]*)\\|`, 'm').exec(readme)?.[1] ?? '';
    for (const { containerPort } of ports) expect(cell).toContain(` ${containerPort} `);
  }
});

withDig('the commands of the README', () => {
  let server: ApiServer;
  let upstream: LoopbackUpstream;
  let folder: string;
  let kubeconfig: string;

  beforeAll(async () => {
    server = await createApiServer();
    upstream = await LoopbackUpstream.start();
    folder = mkdtempSync(join(tmpdir(), 'kube-dns-readme-'));
    kubeconfig = join(folder, 'config');
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'test', cluster: { server: server.url } }],
      users: [{ name: 'me', user: { token: 'secret' } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'me' } }],
      'current-context': 'test',
    };
    writeFileSync(kubeconfig, stringify(config));
  });
  afterAll(async () => {
    await upstream.close();
    await server.close();
    rmSync(folder, { recursive: true });
  });

  /** A free port for each of these, and what else is not as in the README. */
  async function replacementsFor(...ports: readonly string[]): Promise<Replacements> {
    const free = ports.map(async (port) => [port, String(await freePort())] as const);
    return new Map([
      ...(await Promise.all(free)),
      [KUBECONFIG, kubeconfig],
      ['9.9.9.9', `127.0.0.1#${upstream.port}`],
    ]);
  }

  /** Nothing that is asked here is for them; ports and times are for a test. */
  const forKubedns = async () => [
    `--healthz-port=${await freePort()}`,
    `--nameservers=127.0.0.1:${upstream.port}`,
    '--drain-time=0s',
  ];

  const answerTo = (port: string | undefined, ...words: readonly string[]) =>
    outputOf('dig', ['@127.0.0.1', '-p', port ?? '', '+short', '+time=1', ...words]).catch(
      () => '',
    );
  const textOf = async (port: string | undefined, path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined);
    return `${response?.status ?? 0} ${(await response?.text()) ?? ''}`;
  };
  const showsMetric = async (port: string | undefined, pattern: RegExp) =>
    pattern.test(await textOf(port, '/metrics'));

  describe('under "Run one component alone"', () => {
    const commands = shellBlock(readme, 'Run one component alone');
    const programs = new NpxCommands();
    let ports: Replacements;

    beforeAll(async () => {
      ports = await replacementsFor('10053', '1053', '10054', '10055', '10056');
      const command = (name: string) => replaceAll(commandWith(commands, name), ports);
      programs.start(command('kubedns'), ...(await forKubedns()));
      programs.start(command('dnsmasq'));
      programs.start(command('sidecar'), `--prometheus-port=${ports.get('10054')}`);
    });
    afterAll(() => programs.close());

    it('give kubedns the records of the cluster, and metrics', async () => {
      const answer = () => answerTo(ports.get('10053'), 'kubernetes.default.svc.cluster.local');
      await untilEqual('10.96.0.1', answer, { limitMs: READY_MS });
      const isReady = () => showsMetric(ports.get('10055'), /^kubedns_ready 1$/m);
      await untilEqual(true, isReady, { limitMs: READY_MS });
    });

    it('give dnsmasq a name server and a cache, and metrics', async () => {
      const answer = () => answerTo(ports.get('1053'), 'www.example.com');
      await untilEqual('192.0.2.1', answer, { limitMs: READY_MS });
      const metric = /^dnsmasq_cache_max_records 1000$/m;
      await untilEqual(true, () => showsMetric(ports.get('10056'), metric), { limitMs: READY_MS });
    });

    it('give the sidecar a probe of dnsmasq, and metrics', async () => {
      const curl = commandWith(commands, 'curl');
      const [, port, path = ''] = /^curl 127\.0\.0\.1:(\d+)(\/\S+)$/.exec(curl) ?? [];
      const isHealthy = async () => (await textOf(ports.get(port ?? ''), path)).startsWith('200 ');
      await untilEqual(true, isHealthy, { limitMs: READY_MS });
      const metric = /^kubedns_probe_dnsmasq_up 1$/m;
      expect(await showsMetric(ports.get('10054'), metric)).toBe(true);
    });
  });

  describe('under "Encrypted upstreams"', () => {
    const NAME = 'dns.quad9.net';
    const commands = shellBlock(readme, 'Encrypted upstreams');
    const programs = new NpxCommands();
    const authority = new TestAuthority();
    let quad9: EncryptedNameServer;

    /** Starts the command with this name after `%`, and returns what the one with dig shows. */
    async function startWith(name: string): Promise<() => Promise<string>> {
      const port = String(await freePort());
      const replacements = new Map([
        ['1053', port],
        ['9.9.9.9', `127.0.0.1#${quad9.port}`],
        [NAME, name],
      ]);
      const ca = join(folder, 'ca.pem');
      writeFileSync(ca, authority.cert);
      programs.start(replaceAll(commandWith(commands, 'dnsmasq'), replacements), `--tls-ca=${ca}`);
      const [dig, ...words] = replaceAll(commandWith(commands, 'dig'), replacements).split(' ');
      return () => outputOf(dig ?? '', words).catch(() => '');
    }
    /** What the README shows of this error. */
    const shown = (code: number) => new RegExp(`^; EDE: ${code} .*$`, 'm').exec(readme)?.[0] ?? '';

    beforeAll(async () => {
      const script = () => ({ answers: addressRecords(1, '192.0.2.1') });
      const certificate = authority.issue({ names: [NAME] });
      quad9 = await EncryptedNameServer.start(script, { certificate });
    });
    afterAll(async () => {
      await programs.close();
      await quad9.close();
    });

    it('ask over TLS, and show an expired answer when the server is away', async () => {
      const dug = await startWith(NAME);
      const hasAnswer = async () => (await dug()).includes('192.0.2.1');
      await untilEqual(true, hasAnswer, { limitMs: READY_MS });
      quad9.script = () => null;
      const expected = shown(3).replace(/\d+ s/, 'N s');
      const ede = async () => /^; EDE: .*$/m.exec(await dug())?.[0].replace(/\d+ s/, 'N s');
      await untilEqual(expected, ede, { limitMs: READY_MS });
    });

    it('show why a server with another name is not asked', async () => {
      const dug = await startWith('wrong.example');
      const expected = shown(23).replace('9.9.9.9#853', `127.0.0.1#${quad9.port}`);
      const ede = async () => /^; EDE: .*$/m.exec(await dug())?.[0];
      await untilEqual(expected, ede, { limitMs: READY_MS });
    });
  });

  describe('under "Local cluster DNS on your laptop"', () => {
    const commands = shellBlock(readme, 'Local cluster DNS on your laptop');
    const programs = new NpxCommands();
    let ports: Replacements;

    beforeAll(async () => {
      ports = await replacementsFor('10053', '1053');
      const command = (name: string) => replaceAll(commandWith(commands, name), ports);
      programs.start(command('kubedns'), ...(await forKubedns()));
      programs.start(command('dnsmasq'));
    });
    afterAll(() => programs.close());

    it('resolve the names of the cluster, as the last of them shows', async () => {
      const [dig, ...words] = replaceAll(commandWith(commands, 'dig'), ports).split(' ');
      const answer = () => outputOf(dig ?? '', words).catch(() => '');
      await untilEqual('10.96.0.1', answer, { limitMs: READY_MS });
    });

    it('resolve its addresses', async () => {
      const answer = () => answerTo(ports.get('1053'), '-x', '10.96.0.1');
      await untilEqual('kubernetes.default.svc.cluster.local.', answer, { limitMs: READY_MS });
    });

    it('take every argument', () => {
      expect(programs.log).not.toMatch(/unknown|(is|;) not used|unsupported|usage/i);
    });
  });
});
