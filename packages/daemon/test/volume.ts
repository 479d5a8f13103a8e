import { mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * A ConfigMap volume as kubelet makes it: first its link is renamed, then those of the keys are added and
 * removed (kubernetes pkg/volume/util/atomic_writer.go).
 */
export class Volume {
  readonly path: string;
  #generation = 0;

  constructor(path: string) {
    this.path = path;
  }

  async put(files: Readonly<Record<string, string>>): Promise<void> {
    const old = this.#dataName();
    await this.swap(files);
    await this.link(files);
    await rm(join(this.path, old), { recursive: true, force: true });
  }

  /** The first half of a change, after which the links are still those of the former keys. */
  async swap(files: Readonly<Record<string, string>>): Promise<void> {
    this.#generation++;
    const data = this.#dataName();
    await mkdir(join(this.path, data));
    for (const [name, content] of Object.entries(files)) {
      await writeFile(join(this.path, data, name), content);
    }
    await symlink(data, join(this.path, '..data_tmp'));
    await rename(join(this.path, '..data_tmp'), join(this.path, '..data'));
  }

  /** The second half: links for these keys, and for no others. */
  async link(files: Readonly<Record<string, string>>): Promise<void> {
    const linked = (await readdir(this.path)).filter((name) => !name.startsWith('.'));
    for (const name of Object.keys(files).filter((each) => !linked.includes(each))) {
      await symlink(join('..data', name), join(this.path, name));
    }
    for (const name of linked.filter((each) => !(each in files))) {
      await rm(join(this.path, name));
    }
  }

  #dataName(): string {
    return `..2026_${this.#generation}`;
  }
}
