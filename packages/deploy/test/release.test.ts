import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { IMAGES } from '@kube-dns/testkit';
import { ROOT } from './support/root.js';

interface About {
  readonly version?: string;
  readonly scripts: Readonly<Record<string, string>>;
}

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const { version = '', scripts } = JSON.parse(read('package.json')) as About;

/** Where kubectl or a reader needs the version itself. */
const COPIES = [
  'README.md',
  'manifests/README.md',
  'manifests/kube-dns/kustomization.yaml',
  'manifests/node-cache/kustomization.yaml',
  'manifests/trial-pod.yaml',
];

it.each(readdirSync(`${ROOT}packages`))('packages/%s/package.json has each key once', (name) => {
  const text = read(`packages/${name}/package.json`);
  let keys = 0;
  // Called for each value that remains: of equal keys that is the last.
  JSON.parse(text, (key, value: unknown) => {
    if (/^[^0-9]/.test(key)) keys++;
    return value;
  });
  expect(text.match(/"[^"]*": /g)).toHaveLength(keys);
});

describe('the version', () => {
  it('has one place: no package, lock file entry or Dockerfile has one of its own', () => {
    const names = readdirSync(`${ROOT}packages`).map((name) => `packages/${name}`);
    const lock = JSON.parse(read('package-lock.json')) as {
      version: string;
      packages: Record<string, About>;
    };
    for (const name of names) {
      const { version: own } = JSON.parse(read(`${name}/package.json`)) as About;
      expect([name, own, lock.packages[name]?.version]).toEqual([name, undefined, undefined]);
    }
    expect([lock.version, lock.packages['']?.version]).toEqual([version, version]);
    for (const name of IMAGES) {
      expect(read(`images/${name}/Dockerfile`)).not.toContain(version);
    }
  });

  it('is that of every program', () => {
    for (const name of [...IMAGES, 'apiserver']) {
      const bundle = `${ROOT}packages/${name}/dist/${name}.cjs`;
      const said = execFileSync(process.execPath, [bundle, '--version'], { encoding: 'utf8' });
      expect([name, said]).toEqual([name, expect.stringContaining(version)]);
    }
  });

  it('gets by npm version to where kubectl and readers need it', () => {
    expect(scripts.version).toBe(`node manifests/version.mjs && git add ${COPIES.join(' ')}`);
    const folder = mkdtempSync(join(tmpdir(), 'kube-dns-version-'));
    try {
      cpSync(`${ROOT}manifests`, join(folder, 'manifests'), { recursive: true });
      cpSync(`${ROOT}README.md`, join(folder, 'README.md'));
      writeFileSync(join(folder, 'package.json'), JSON.stringify({ version: '98.7.6-rc.5' }));
      execFileSync(process.execPath, [`${ROOT}manifests/version.mjs`, folder]);
      for (const file of COPIES) {
        const text = readFileSync(join(folder, file), 'utf8');
        expect([file, text.split('98.7.6-rc.5').join(version)]).toEqual([file, read(file)]);
        expect([file, text.includes(version)]).toEqual([file, false]);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('CHANGELOG.md', () => {
  it('has this version first', () => {
    const versions = [...read('CHANGELOG.md').matchAll(/^## (\S+)/gm)].map(([, name]) => name);
    expect(versions[0]).toBe(version);
  });
});

describe('.github/workflows/ci.yml', () => {
  it('only calls .ci/run', () => {
    const { jobs } = parse(read('.github/workflows/ci.yml')) as {
      jobs: Record<string, { steps: Record<string, string>[] }>;
    };
    const steps = Object.values(jobs).flatMap((job) => job.steps);
    expect(steps.filter(({ run }) => run !== undefined)).toEqual([{ run: '.ci/run' }]);
    expect(steps.filter(({ uses }) => uses !== undefined)).toHaveLength(steps.length - 1);
  });
});
