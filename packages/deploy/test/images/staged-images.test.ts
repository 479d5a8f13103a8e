import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  ask,
  Dockerfile,
  freePort,
  type ImageName,
  IMAGES,
  needsOtherUsers,
  unless,
  until,
} from '@kube-dns/testkit';
import { ROOT } from '../support/root.js';
import { startApiServer, type RunningApiServer } from '../support/api-server.js';
import { StagedImages, type StagedProcess } from '../support/staged-image.js';

/** How long a client waits for an answer. */
const ANSWER_MS = 60_000;

interface Subject {
  readonly args: (port: number, otherPort: number) => readonly string[];
  readonly ask: (port: number) => Promise<unknown>;
}

/** Of a CycloneDX document, what is looked at here. */
interface Bill {
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly hashes: unknown;
    readonly licenses: readonly unknown[];
  }[];
}

/** What a package.json says of its package; one that only says what kind the modules are has neither. */
interface About {
  readonly name?: string;
  readonly version?: string;
}

/** The packages in an image's node_modules, by name and version. */
function acceleratorIn(app: string): readonly string[] {
  const folder = join(app, 'node_modules');
  if (!existsSync(folder)) return [];
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return paths
    .filter((path) => path.endsWith('package.json'))
    .map((path) => JSON.parse(readFileSync(join(folder, path), 'utf8')) as About)
    .filter(({ version }) => version !== undefined)
    .map(({ name, version }) => `${name} ${version}`);
}

let images: StagedImages;
let api: RunningApiServer;
const started = new Map<ImageName, StagedProcess>();

beforeAll(async () => {
  images = new StagedImages();
  api = await startApiServer();
  await Promise.all(IMAGES.map(startAndAsk));
});

afterAll(async () => {
  await Promise.all([...started.values()].map((program) => program.close()));
  await api.close();
  images.close();
});

/** Over TCP, which refuses at once where the program does not serve yet. */
async function addressOf(name: string, port: number): Promise<string> {
  const { answers } = await ask(port, name, { isOverTcp: true, limitMs: ANSWER_MS });
  return answers.map((each) => (each.type === 'A' ? each.data : '')).join();
}

const SUBJECTS: Readonly<Record<ImageName, Subject>> = {
  kubedns: {
    args: (port, otherPort) => [
      `--kube-master-url=${api.url}`,
      '--dns-bind-address=127.0.0.1',
      `--dns-port=${port}`,
      `--healthz-port=${otherPort}`,
      '--nameservers=127.0.0.1:9',
    ],
    ask: (port) => addressOf('kubernetes.default.svc.cluster.local', port),
  },
  dnsmasq: {
    args: (port) => [
      '--',
      `--port=${port}`,
      '--listen-address=127.0.0.1',
      '--bind-interfaces',
      '--no-resolv',
      '--cache-size=1000',
      '--address=/a.test/192.0.2.1',
    ],
    ask: (port) => addressOf('a.test', port),
  },
  sidecar: {
    args: (port, otherPort) => [
      '--prometheus-addr=127.0.0.1',
      `--prometheus-port=${port}`,
      `--dnsmasq-port=${otherPort}`,
      `--probe=a,127.0.0.1:${otherPort},a.test,5,A`,
    ],
    ask: async (port) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text(),
  },
  'node-cache': {
    args: (port, otherPort) => {
      const template = join(images.folder, 'Corefile.base');
      const plugins = 'bind 127.0.0.1\nhosts {\n192.0.2.1 a.test\n}\ncache 30';
      writeFileSync(template, `.:${port} {\n${plugins}\nforward . 127.0.0.1:9\n}\n`);
      return [
        ...['-localip=127.0.0.1', '-setupinterface=false', '-setupiptables=false'],
        ...[`-basecorefile=${template}`, `-conf=${join(images.folder, 'Corefile')}`],
        ...[`-metrics-listen-address=127.0.0.1:${otherPort}`, '-kubednscm=/nowhere'],
      ];
    },
    ask: (port) => addressOf('a.test', port),
  },
};

/** Starts a program on free ports and waits until it answers. */
async function startAndAsk(name: ImageName): Promise<void> {
  const subject = SUBJECTS[name];
  const port = await freePort();
  const program = images.start(name, subject.args(port, await freePort()));
  started.set(name, program);
  const hasAnswered = async () => {
    program.check();
    return subject.ask(port).then(Boolean, () => false);
  };
  await until(() => `an answer of ${name}:\n${program.output}`, hasAnswered);
}

describe.each(IMAGES)('what the image %s runs', (name) => {
  it('is one bundle with its licence and those of what is in it', () => {
    const files = readdirSync(images.app(name)).filter((file) => file !== 'node_modules');
    expect(files).toEqual(
      expect.arrayContaining(['LICENSE', 'THIRD-PARTY-LICENSES', `${name}.cjs`]),
    );
    expect(files.filter((file) => /\.[cm]?js$/.test(file))).toEqual([`${name}.cjs`]);
    const notices = readFileSync(join(images.app(name), 'THIRD-PARTY-LICENSES'), 'utf8');
    expect(notices).toMatch(/^express [0-9.]+: MIT\n\n\(The MIT License\)/m);
    expect(statSync(join(images.app(name), `${name}.cjs`)).size).toBeLessThan(1.5e6);
  });

  it('has a bill of materials: each package of the licences, and the packages next to the bundle', () => {
    const text = readFileSync(join(images.app(name), 'sbom.cdx.json'), 'utf8');
    const bill = JSON.parse(text) as Bill;
    expect(bill).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.5' });
    const notices = readFileSync(join(images.app(name), 'THIRD-PARTY-LICENSES'), 'utf8');
    const bundled = Array.from(
      notices.matchAll(/^(@?[a-z][\w./-]+ \d+\.\d+\.\d+): /gm),
      ([, id]) => id!,
    );
    const beside = acceleratorIn(images.app(name));
    const listed = bill.components.map((each) => `${each.name} ${each.version}`);
    expect(listed.sort()).toEqual([...new Set([...bundled, ...beside])].sort());
    for (const { hashes, licenses } of bill.components) {
      expect(hashes).toEqual([
        { alg: 'SHA-512', content: expect.stringMatching(/^[\da-f]{128}$/) },
      ]);
      expect(licenses).toHaveLength(1);
    }
  });

  unless(needsOtherUsers(), it)('has no more rights than the user of the image', () => {
    const { uid } = new Dockerfile(name).user;
    const program = started.get(name);
    expect(program?.status('Uid')).toBe(Array(4).fill(uid).join('\t'));
    if (uid > 0) expect(program?.status('CapEff')).toMatch(/^0+$/);
  });
});

describe('the native accelerator in the images', () => {
  const installed = createRequire(`${ROOT}packages/transport/package.json`);
  const isInstalled = (() => {
    try {
      installed('koffi');
      return true;
    } catch {
      return false; // an optional dependency: not on every platform
    }
  })();

  it.each(['kubedns', 'dnsmasq', 'node-cache'] as const)(
    'is what %s uses where it is installed',
    (name) => {
      expect(started.get(name)?.output).toMatch(
        isInstalled
          ? /\] UDP engine: batch$/m
          : /\] UDP engine: dgram \(.* koffi, which is not installed/m,
      );
    },
  );

  it('is not in the image of sidecar, which serves no DNS', () => {
    expect(readdirSync(images.app('sidecar'))).not.toContain('node_modules');
  });
});

it('no program has what its packages load and do not use: TLS, cluster, entity tags', () => {
  const text = readFileSync(join(images.app('sidecar'), 'sidecar.cjs'), 'utf8');
  expect(text).not.toMatch(/require\("(?:node:)?(?:https|tls|cluster|v8|fs\/promises)"\)/);
  expect(text).toContain('etag is not in this bundle');
});
