import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  builtProgram,
  type Closable,
  Dockerfile,
  needsNamespaces,
  needsPrograms,
  PodmanStore,
} from '@kube-dns/testkit';
import type { Programs } from '../load/server-testbed.js';
import { CONTAINERS, type ContainerName } from './container-name.js';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const BASE = 'localhost/kube-dns/base:bench';

/** Why podman cannot run images that are built here; undefined where it can. */
export function podmanSkipReason(): string | undefined {
  return needsPrograms('podman', 'apt-get', 'dpkg-deb') ?? needsNamespaces();
}

/** A Dockerfile of the stage that becomes the image, with what is in the folder of that name as `/app`. */
export function lastStage(name: ContainerName): string {
  const lines = new Dockerfile(name).run.map(({ keyword, value }) =>
    keyword === 'COPY' ? `COPY ${name} /app` : `${keyword} ${value}`,
  );
  return ['ARG BASE_IMAGE', ...lines, ''].join('\n');
}

/** The images of the pod, of the bundles that are measured, in a store of podman that is only the bench's. */
export class PodmanImages implements Closable {
  readonly #store = new PodmanStore();

  /** Builds them on one base, so that they share the layer with Node. Rejects where that cannot be. */
  async build({ kubedns, dnsmasq }: Programs): Promise<void> {
    const bundles = { kubedns, dnsmasq, sidecar: builtProgram('sidecar') };
    const base = [join(ROOT, 'images/local-base.mjs'), '--engine=podman', BASE];
    await this.#run(process.execPath, ...base);
    const context = join(this.#store.folder, 'context');
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
    const variables = Object.entries(this.#store.variables).map(
      ([name, value]) => `${name}=${value}`,
    );
    return ['env', ...variables, 'podman', ...words];
  }

  /** The output of this podman. */
  output(...words: readonly string[]): Promise<string> {
    return this.#run('podman', ...words);
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  async #run(program: string, ...args: readonly string[]): Promise<string> {
    const env = { ...process.env, ...this.#store.variables };
    const { stdout } = await run(program, args, { cwd: ROOT, env, maxBuffer: 2 ** 26 });
    return stdout.trim();
  }
}
