import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { IMAGES as NAMES } from '@kube-dns/testkit';
import { parse } from 'yaml';
import { ROOT } from '../support/root.js';
import { shellBlock } from '../support/shell-block.js';

const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { version: string };

interface Kustomization {
  readonly images: readonly { readonly newName: string; readonly newTag: string }[];
}

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kube-dns-engines-'));
  mkdirSync(join(folder, 'bin'));
});

afterEach(() => rmSync(folder, { recursive: true }));

/** A program in place of an engine: records its arguments, then runs `body`, commands of a shell. */
function engine(name: string, body = ''): void {
  const path = join(folder, 'bin', name);
  const note = `printf '%s\\n' "${name} $*" >>'${folder}/calls'`;
  writeFileSync(path, `#!/bin/sh\n${note}\n${body}\n`);
  chmodSync(path, 0o755);
}

/** Runs the command with only those engines on the PATH. */
function build(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  const env = { PATH: join(folder, 'bin') };
  return spawnSync(process.execPath, [`${ROOT}images/build.mjs`, ...args], {
    env,
    encoding: 'utf8',
  });
}

function buildCalls(): string[] {
  const calls = readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n');
  return calls.filter((call) => call.includes(' build '));
}

const FAILS = "echo 'Cannot connect to the daemon' >&2; exit 1";
const FAILS_TO_BUILD = 'if [ "$1" = build ]; then exit 125; fi';

describe('npm run images', () => {
  it('builds all from the root of the repository, under the version of the project', () => {
    engine('podman');
    expect(build().status).toBe(0);
    const calls = buildCalls();
    expect(calls).toHaveLength(NAMES.length);
    NAMES.forEach((name, at) => {
      expect(calls[at]).toContain(`-f images/${name}/Dockerfile -t localhost/${name}:${version} `);
    });
    for (const call of calls) expect(call).toMatch(/ \.$/);
  });

  it('fails where the Node of the base is too old for the program', () => {
    engine('podman', 'if [ "$1" = run ]; then echo "kubedns: needs Node 22.19" >&2; exit 1; fi');
    const { status, stderr } = build('kubedns');
    expect(status).toBe(1);
    expect(stderr).toBe(
      `images: localhost/kubedns:${version} does not start: kubedns: needs Node 22.19; give a --base with a newer Node\n`,
    );
  });

  it('builds where an image cannot be run', () => {
    engine('podman', 'if [ "$1" = run ]; then echo "no right to" >&2; exit 125; fi');
    expect(build('kubedns').status).toBe(0);
  });

  it('says what it builds, from what, with what, and how large it became', () => {
    engine('podman', 'if [ "$1" = image ]; then echo 124900000; fi');
    const { stdout } = build('--base', 'localhost/base', 'dnsmasq');
    const name = `localhost/dnsmasq:${version}`;
    expect(stdout.split('\n').slice(0, 2)).toEqual([
      `images: building ${name} from images/dnsmasq/Dockerfile on localhost/base with podman`,
      `images: built ${name} in ${/in (.*) s/.exec(stdout)?.[1]} s, 124.9 MB uncompressed`,
    ]);
  });

  it('says how the images get to kind, and elsewhere', () => {
    for (const name of ['docker', 'podman', 'buildah']) engine(name);
    const next = (...args: string[]) =>
      build(...args)
        .stdout.split('\n')
        .at(-2);
    const image = `localhost/kubedns:${version}`;
    expect(next('--engine=docker', 'kubedns')).toBe(
      `images: next, with kind: kind load docker-image ${image}`,
    );
    // kind asks docker only, whatever has built the images.
    expect(next('--engine=podman', 'kubedns')).toBe(
      `images: next, with kind: podman save -m -o images.tar ${image} && kind load image-archive images.tar`,
    );
    expect(next('--engine=buildah', 'kubedns')).toContain('kind load image-archive');
    expect(next('--prefix=registry.test/', 'kubedns')).toContain('push them');
  });

  it('gives the images the names that the manifests have', () => {
    engine('docker');
    const names = build().stdout.split('\n').at(-2)?.split(' ').slice(-NAMES.length);
    const images = ['kube-dns', 'node-cache'].flatMap((folder) => {
      const file = `${ROOT}manifests/${folder}/kustomization.yaml`;
      return (parse(readFileSync(file, 'utf8')) as Kustomization).images;
    });
    expect(names).toEqual(images.map(({ newName, newTag }) => `${newName}:${newTag}`));
  });

  it('takes base, build image, prefix and tag, and passes on what follows --', () => {
    engine('docker');
    const options = ['--base=b', '--build-image=i', '--prefix=registry.test/dns/', '--tag=t'];
    expect(build(...options, 'sidecar', '--', '--no-cache').status).toBe(0);
    const [call, ...others] = buildCalls();
    expect(others).toEqual([]);
    expect(call).toContain(' -t registry.test/dns/sidecar:t ');
    expect(call).toContain('--build-arg BASE_IMAGE=b --build-arg BUILD_IMAGE=i --no-cache .');
  });

  it.each(['podman', 'buildah'])(
    'builds a list of images for several platforms with %s',
    (name) => {
      engine(name);
      const platforms = 'linux/amd64,linux/arm64';
      const tag = `registry.test/kubedns:${version}`;
      const { stdout } = build(`--platform=${platforms}`, '--prefix=registry.test/', 'kubedns');
      // The stage of the build runs on this machine's processor, whatever it builds for.
      const own = `BUILDPLATFORM=linux/${process.arch === 'x64' ? 'amd64' : process.arch}`;
      expect(buildCalls()).toEqual([
        expect.stringContaining(`--platform ${platforms} --manifest ${tag} --build-arg ${own} `),
      ]);
      // What an earlier build has left under the name would be added to, or be in the way.
      const calls = readFileSync(join(folder, 'calls'), 'utf8');
      for (const word of ['manifest rm', 'rmi'])
        expect(calls).toContain(`${name} ${word} ${tag}\n`);
      expect(stdout).toContain(`${name} manifest push --all ${tag} docker://${tag}\n`);
    },
  );

  it('leaves several platforms to docker, which pushes them itself', () => {
    engine('docker');
    const { stdout } = build('--platform=linux/amd64,linux/arm64', 'kubedns');
    const tag = `localhost/kubedns:${version}`;
    expect(buildCalls()).toEqual([
      expect.stringContaining(`--platform linux/amd64,linux/arm64 -t ${tag} `),
    ]);
    expect(stdout).toContain('-- --push\n');
  });

  it.each([
    [['docker', 'podman', 'buildah'], 'docker'],
    [['podman', 'buildah'], 'podman'],
    [['buildah'], 'buildah'],
  ])('of %j takes %s', (present, chosen) => {
    for (const name of present) engine(name);
    expect(build('kubedns').stdout).toContain(`with ${chosen}\n`);
    expect(buildCalls()).toEqual([expect.stringMatching(new RegExp(`^${chosen} build `))]);
  });

  it('passes over a docker whose daemon does not answer', () => {
    engine('docker', FAILS);
    engine('buildah');
    expect(build('kubedns').stdout).toContain('with buildah\n');
  });

  it('without any says what is wrong with each and what to install', () => {
    engine('docker', FAILS);
    const { status, stderr, stdout } = build();
    expect(stderr).toMatch(
      /^images: no container engine: docker says: Cannot connect to the daemon; podman is not installed; buildah is not installed\nInstall one of them/,
    );
    expect(stderr).toContain('apt-get install podman');
    expect([status, stdout]).toEqual([1, '']);
  });

  it('fails when the engine fails, at the first image', () => {
    engine('podman', FAILS_TO_BUILD);
    const { status, stderr } = build();
    expect(stderr).toBe(
      `images: podman could not build localhost/kubedns:${version}: status 125\n`,
    );
    expect(status).toBe(1);
    expect(buildCalls()).toHaveLength(1);
  });

  it('without a registry says what to do', () => {
    const pulls = (status: number) => `${FAILS_TO_BUILD}
case "$1 $3" in
inspect\\ localhost/base) exit 0;;
inspect*) exit 125;;
pull*) printf 'trying\\nno such host\\n' >&2; exit ${status};;
esac`;
    engine('podman', pulls(125));
    const { status, stderr } = build();
    expect(stderr.split('\n').slice(0, 2)).toEqual([
      `images: podman could not build localhost/kubedns:${version}: status 125`,
      'podman cannot get the image node:24-bookworm-slim: no such host',
    ]);
    // The commands of "Without a registry" in the README.
    const commands = shellBlock(
      readFileSync(`${ROOT}images/README.md`, 'utf8'),
      'Without a registry',
    );
    expect(commands.length).toBeGreaterThan(2);
    for (const command of commands) expect(stderr).toContain(`  ${command}\n`);
    expect(status).toBe(1);
    // The same failure for another reason: the images can be had.
    expect(build('--base=localhost/base', '--build-image=localhost/base').stderr).toBe(
      `images: podman could not build localhost/kubedns:${version}: status 125\n`,
    );
    engine('podman', pulls(0));
    expect(build().stderr).not.toContain('cannot get');
  });

  it.each([
    [['coredns'], 'there is no image coredns; there are kubedns, dnsmasq, sidecar, node-cache'],
    [['--engine=kaniko'], '--engine: kaniko is none of docker, podman, buildah'],
    [['--tag='], '--tag is empty'],
    [['--tag'], '--tag needs a value'],
    [['--base', '--tag=x'], '--base needs a value'],
    [['--help=x'], '--help takes no value'],
    [
      ['--plattform=x'],
      'unknown option --plattform; there are ' +
        '--base, --build-image, --prefix, --tag, --platform, --engine, --help',
    ],
  ])('refuses %j in one line', (args, message) => {
    engine('podman');
    const { status, stderr } = build(...args);
    expect(stderr).toBe(`images: ${message}\n`);
    expect(status).toBe(2);
  });

  it('explains itself without an engine', () => {
    const { status, stdout } = build('--help');
    expect(stdout).toMatch(/^Usage: npm run images/);
    expect(status).toBe(0);
  });
});
