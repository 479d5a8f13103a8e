import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  ask,
  type ProgramResult,
  runProgram,
  RunningProgram,
  TemporaryFolder,
} from '@kube-dns/testkit';
import { ROOT } from './support/root.js';

const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { version: string };
const folder = new TemporaryFolder();
const CLI = `kube-dns-cli-${version}.tgz`;
/** Of these the ports of the pod with each offset are below those that the system gives to clients. */
const OFFSETS = [11_000, 12_000, 13_000, 10_000];

/** Makes the parts that need no Debian and no kubectl. */
function release(out: string, umask = '022'): Promise<ProgramResult> {
  const args = ['--dry-run', '--only=cli,chart', `--out=${join(folder.path, out)}`];
  const words = [process.execPath, `${ROOT}packages/deploy/release.mjs`, ...args];
  const shell = ['-c', `umask ${umask}; exec "$@"`, 'sh', ...words];
  return runProgram('sh', shell, { inheritsEnv: true });
}

const installed = join(folder.path, 'elsewhere');
/** Runs the installed command with nothing of the checkout in its environment. */
const command = (args: readonly string[], input = ''): Promise<ProgramResult> =>
  runProgram(join(installed, 'node_modules/.bin/kube-dns'), args, {
    cwd: installed,
    env: { PATH: process.env.PATH },
    hasOnlyEnv: true,
    input,
  });

let first: ProgramResult;

beforeAll(async () => {
  first = await release('first');
  mkdirSync(installed);
  const how = ['--offline', '--omit=optional', '--no-audit', '--no-fund'];
  const npm = await runProgram('npm', ['install', ...how, join(folder.path, 'first', CLI)], {
    cwd: installed,
    inheritsEnv: true,
  });
  expect([first.end, npm.end, npm.stderr]).toEqual([0, 0, '']);
});

afterAll(() => folder.close());

describe('npm run release -- --dry-run', () => {
  it('says what it has made, and that nothing was published', () => {
    expect(readdirSync(join(folder.path, 'first')).sort()).toEqual([
      'NOTES.md',
      'SHA256SUMS',
      `kube-dns-chart-${version}.tgz`,
      `kube-dns-cli-${version}.cdx.json`,
      CLI,
    ]);
    expect(first.stdout).toMatch(/^release: not made, as --only says: manifests, images$/m);
    expect(first.stdout).toMatch(/; nothing was published$/m);
  });

  it('gives the same bytes again, whatever the umask is, in place of the files of before', async () => {
    const sums = readFileSync(join(folder.path, 'first/SHA256SUMS'), 'utf8');
    const again = await release('first', '077');
    expect([again.end, again.stderr]).toEqual([0, '']);
    expect(readFileSync(join(folder.path, 'first/SHA256SUMS'), 'utf8')).toBe(sums);
    const check = ['--check', '--strict', 'SHA256SUMS'];
    const checked = await runProgram('sha256sum', check, { cwd: join(folder.path, 'first') });
    expect([checked.end, checked.stdout.match(/: OK$/gm)?.length]).toEqual([0, 4]);
  });
});

describe('the npm package, where there is no checkout', () => {
  it('is one package of its version, with a bill of what it has', async () => {
    expect(
      readdirSync(join(installed, 'node_modules')).filter((name) => !name.startsWith('.')),
    ).toEqual(['kube-dns']);
    expect((await command(['--version'])).stdout).toBe(`kube-dns ${version}\n`);
    const bill = readFileSync(join(installed, 'node_modules/kube-dns/sbom.cdx.json'), 'utf8');
    const { components } = JSON.parse(bill) as { components: { name: string }[] };
    expect(components.map(({ name }) => name)).toEqual(expect.arrayContaining(['express', 'yaml']));
  });

  it('has a README without links to files that it does not have', () => {
    const readme = readFileSync(join(installed, 'node_modules/kube-dns/README.md'), 'utf8');
    expect(readme.match(/\]\((?!https?:|#)[^)]*\)/g)).toBeNull();
  });

  it.each(['bash', 'zsh', 'fish'])('completes the commands in %s', async (shell) => {
    const { end, stdout } = await command(['completion', shell]);
    expect([end, stdout.includes('--port-offset') || stdout.includes('-l port-offset')]).toEqual([
      0,
      true,
    ]);
  });

  it('converts, also with the manifest that it brings', async () => {
    const corefile = await command(
      ['convert', '--to', 'configmap', '-'],
      '.:53 {\n  forward . 192.0.2.1\n}\n',
    );
    expect(corefile.stdout).toContain('192.0.2.1');
    const old =
      'apiVersion: v1\nkind: Pod\nmetadata: { name: d, namespace: kube-system }\nspec:\n' +
      '  containers: [{ name: kubedns, image: a/kubedns:1, args: [--domain=other.test.] }]\n';
    const manifest = await command(['convert', '--manifest', '-'], old);
    expect(manifest.stdout).toMatch(/value: other\.test$/m);
  });

  describe('runs the pod', () => {
    let pod: RunningProgram | undefined;
    let offset = 0;

    beforeAll(async () => {
      for (offset of OFFSETS) {
        pod = new RunningProgram(
          'kube-dns',
          join(installed, 'node_modules/.bin/kube-dns'),
          ['up', '--node-cache', `--port-offset=${offset}`],
          { cwd: installed, env: { PATH: process.env.PATH }, hasOnlyEnv: true },
        );
        const ready = pod
          .waitForLine(/is ready after [0-9.]+ s\. In another shell/)
          .then(() => true);
        if (await Promise.race([ready.catch(() => false), pod.ended.then(() => false)])) return;
        if (!pod.stderr.includes('is already in use')) throw new Error(pod.output);
      }
    });
    afterAll(() => pod?.close('SIGTERM'));

    it('on ports of its own, with node-cache', async () => {
      const name = 'kubernetes.default.svc.cluster.local';
      for (const port of [1053, 1153, 10_053]) {
        const { answers } = await ask(port + offset, { name, type: 'A' });
        expect([port, answers.length]).toEqual([port, 1]);
      }
    });

    it('explains its answers', async () => {
      const ports = [
        `--kubedns=${10_055 + offset}`,
        `--dnsmasq=${10_056 + offset}`,
        `--node-cache=${9_353 + offset}`,
      ];
      const { end, stdout } = await command(['explain', 'web.shop.svc.cluster.local.', ...ports]);
      expect(end).toBe(0);
      expect(stdout).toContain('What kubedns says about web.shop.svc.cluster.local. A: NOERROR');
    });

    it('compares two of its programs', async () => {
      const sides = [`--left=127.0.0.1:${1053 + offset}`, `--right=127.0.0.1:${10_053 + offset}`];
      const input = 'kubernetes.default.svc.cluster.local A\nweb.shop.svc.cluster.local A\n';
      const { end, stderr } = await command(['compare', ...sides, '--questions=-'], input);
      expect([end, stderr]).toEqual([0, expect.not.stringContaining('kube-dns:')]);
    });
  });
});
