import { execFileSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { IMAGES, outputOf, ownedBy, TemporaryFolder } from '@kube-dns/testkit';
import { ROOT } from '../support/root.js';
import { read } from './documents.js';

interface About {
  readonly version?: string;
  readonly scripts: Readonly<Record<string, string>>;
}

const own = ownedBy(afterEach);
const { version = '', scripts } = JSON.parse(read('package.json')) as About;
/** Where kubectl or a reader needs the version itself. */
const COPIES = [
  'README.md',
  'manifests/README.md',
  'manifests/kube-dns/kustomization.yaml',
  'manifests/node-cache/kustomization.yaml',
  'manifests/trial-pod.yaml',
];
const PACKAGES = readdirSync(`${ROOT}packages`).map((name) => `packages/${name}`);

it('each package.json has each key once', () => {
  for (const name of PACKAGES) {
    const text = read(`${name}/package.json`);
    let keys = 0;
    // Called for each value that remains: of equal keys that is the last.
    JSON.parse(text, (key, value: unknown) => {
      if (/^[^0-9]/.test(key)) keys++;
      return value;
    });
    expect([name, text.match(/"[^"]*": /g)?.length]).toEqual([name, keys]);
  }
});

describe('the version', () => {
  it('has one place: no package, lock file entry or Dockerfile has one of its own', () => {
    const lock = JSON.parse(read('package-lock.json')) as {
      version: string;
      packages: Record<string, About>;
    };
    for (const name of PACKAGES) {
      const { version: here } = JSON.parse(read(`${name}/package.json`)) as About;
      expect([name, here, lock.packages[name]?.version]).toEqual([name, undefined, undefined]);
    }
    expect([lock.version, lock.packages['']?.version]).toEqual([version, version]);
    for (const name of IMAGES) expect(read(`images/${name}/Dockerfile`)).not.toContain(version);
  });

  it.each([...IMAGES, 'apiserver'])('is that of %s', async (name) => {
    const said = await outputOf(process.execPath, [
      `${ROOT}packages/${name}/dist/${name}.cjs`,
      '--version',
    ]);
    expect(said).toContain(version);
  });

  it('gets by npm version to where kubectl and readers need it', () => {
    expect(scripts.version).toBe(`node manifests/version.mjs && git add ${COPIES.join(' ')}`);
    const folder = own(new TemporaryFolder());
    cpSync(`${ROOT}manifests`, join(folder.path, 'manifests'), { recursive: true });
    folder.file('README.md', read('README.md'));
    folder.file('package.json', JSON.stringify({ version: '98.7.6-rc.5' }));
    execFileSync(process.execPath, [`${ROOT}manifests/version.mjs`, folder.path]);
    for (const file of COPIES) {
      const text = readFileSync(join(folder.path, file), 'utf8');
      expect([file, text.replaceAll('98.7.6-rc.5', version)]).toEqual([file, read(file)]);
      expect([file, text.includes(version)]).toEqual([file, false]);
    }
  });

  it('is the first of CHANGELOG.md', () => {
    expect(/^## (\S+)/m.exec(read('CHANGELOG.md'))?.[1]).toBe(version);
  });
});

it('.github/workflows/release.yml makes its files with npm run release, after .ci/run', () => {
  const { jobs } = parse(read('.github/workflows/release.yml')) as {
    jobs: Record<string, { steps: Record<string, string>[] }>;
  };
  const commands = Object.values(jobs).flatMap(({ steps }) => steps.map(({ run = '' }) => run));
  const at = (text: string) => commands.findIndex((each) => each.startsWith(text));
  expect(at('.ci/run')).toBeGreaterThan(-1);
  expect(at('npm run release -- --dry-run')).toBeGreaterThan(at('.ci/run'));
  // Without ./ npm takes the path for a repository of GitHub.
  expect(commands.join()).toMatch(/npm publish --provenance --access=public "\.\/release\//);
  expect(commands.join()).toContain('test "$GITHUB_REF_NAME" = "v$(node -p');
});

it('.github/workflows/ci.yml only calls .ci/run', () => {
  const { jobs } = parse(read('.github/workflows/ci.yml')) as {
    jobs: Record<string, { steps: Record<string, string>[] }>;
  };
  const steps = Object.values(jobs).flatMap((job) => job.steps);
  expect(steps.filter(({ uses }) => uses === undefined)).toEqual([{ run: '.ci/run' }]);
});
