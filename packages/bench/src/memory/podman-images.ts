import { execFile, execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  builtProgram,
  type Closable,
  findProgram,
  missing,
  TemporaryFolder,
} from '@kube-dns/testkit';
import type { Programs } from '../load/server-testbed.js';
import { CONTAINERS, type ContainerName } from './container-name.js';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const BASE = 'localhost/kube-dns/base:bench';

/** Why podman cannot run images that are built here; undefined where it can. */
export function podmanSkipReason(): string | undefined {
  if (process.getuid?.() !== 0) return 'needs root';
  return missing('podman', 'apt-get', 'dpkg-deb');
}

/** The stage of a Dockerfile that becomes the image, with what is in the folder of that name as `/app`. */
export function lastStage(name: ContainerName): string {
  const text = readFileSync(`${ROOT}images/${name}/Dockerfile`, 'utf8');
  const stage = text.slice(text.lastIndexOf('FROM ${BASE_IMAGE}'));
  return `ARG BASE_IMAGE\n${stage.replace(/^COPY --from=build \S+ /m, `COPY ${name} `)}`;
}

/** The images of the pod, of the bundles that are measured, in a store of podman that is only the bench's. */
export class PodmanImages implements Closable {
  readonly #folder = new TemporaryFolder();
  /** The words in front of a command that uses this store. */
  readonly #environment: readonly string[];

  constructor() {
    const { path } = this.#folder;
    const storage = `[storage]\ndriver = "overlay"\ngraphroot = "${path}/graph"\nrunroot = "${path}/run"\n`;
    // runc, because crun refuses a machine with both versions of control groups; limits, because a machine
    // without CAP_SYS_RESOURCE cannot raise its own.
    const runtime = findProgram('runc') === undefined ? '' : 'runtime = "runc"\n';
    const settings =
      '[containers]\ndefault_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]\n' +
      `[engine]\n${runtime}cgroup_manager = "cgroupfs"\nevents_logger = "file"\n`;
    this.#environment = [
      'env',
      'NODE_OPTIONS=',
      'BUILDAH_ISOLATION=chroot',
      `CONTAINERS_STORAGE_CONF=${this.#folder.file('storage.conf', storage)}`,
      `CONTAINERS_CONF=${this.#folder.file('containers.conf', settings)}`,
    ];
  }

  /** Builds them on one base, so that they share the layer with Node. Rejects where that cannot be. */
  async build({ kubedns, dnsmasq }: Programs): Promise<void> {
    const bundles = { kubedns, dnsmasq, sidecar: builtProgram('sidecar') };
    const node = [process.execPath, join(ROOT, 'images/local-base.mjs'), '--engine=podman', BASE];
    await this.#run(...node);
    const context = join(this.#folder.path, 'context');
    mkdirSync(context);
    await this.#run(process.execPath, join(ROOT, 'images/stage.mjs'), context, ...CONTAINERS);
    for (const name of CONTAINERS) {
      copyFileSync(bundles[name], join(context, name, `${name}.cjs`));
      const file = join(context, `${name}.Dockerfile`);
      writeFileSync(file, lastStage(name));
      const what = ['-f', file, '-t', this.imageOf(name), `--build-arg=BASE_IMAGE=${BASE}`];
      await this.#run('podman', 'build', ...what, context);
    }
  }

  imageOf(name: ContainerName): string {
    return `localhost/kube-dns/${name}:bench`;
  }

  /** The words of a podman that has these images. */
  command(...words: readonly string[]): readonly string[] {
    return [...this.#environment, 'podman', ...words];
  }

  /** The output of this podman. */
  output(...words: readonly string[]): Promise<string> {
    return this.#run('podman', ...words);
  }

  /** Ends and removes all. */
  async close(): Promise<void> {
    await this.output('rm', '--all', '--force', '--time', '0');
    await this.output('rmi', '--all', '--force');
    try {
      execFileSync('umount', [join(this.#folder.path, 'graph', 'overlay')], { stdio: 'ignore' });
    } catch {
      // Not mounted: podman does that only on some file systems.
    }
    rmSync(this.#folder.path, { recursive: true, force: true });
  }

  async #run(...words: readonly string[]): Promise<string> {
    const [env = '', ...args] = [...this.#environment, ...words];
    const { stdout } = await run(env, args, { cwd: ROOT, maxBuffer: 2 ** 26 });
    return stdout.trim();
  }
}
