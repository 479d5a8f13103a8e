import { existsSync } from 'node:fs';
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The content of a ConfigMap; what is no text is written as JSON. */
export type ConfigKeys = Readonly<Record<string, unknown>>;

/** A ConfigMap volume as kubelet makes it: all its files are replaced by the renaming of one link. */
export class ConfigVolume {
  readonly path: string;
  #generation = 0;
  #keys: readonly string[] = [];

  /** The folder need not be there. */
  constructor(path: string) {
    this.path = path;
  }

  /**
   * Puts these keys in place of all others (kubernetes pkg/volume/util/atomic_writer.go). A folder that
   * is not there appears with all that is in it, as it does to a container that starts.
   */
  async put(values: ConfigKeys): Promise<void> {
    const folder = existsSync(this.path) ? this.path : `${this.path}.new`;
    const old = this.#dataName();
    this.#generation++;
    const data = this.#dataName();
    await mkdir(join(folder, data), { recursive: true });
    for (const [key, value] of Object.entries(values)) {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      await writeFile(join(folder, data, key), text);
    }
    await symlink(data, join(folder, '..data_tmp'));
    await rename(join(folder, '..data_tmp'), join(folder, '..data'));
    const keys = Object.keys(values);
    for (const key of keys.filter((each) => !this.#keys.includes(each))) {
      await symlink(join('..data', key), join(folder, key));
    }
    for (const key of this.#keys.filter((each) => !keys.includes(each))) {
      await rm(join(folder, key));
    }
    this.#keys = keys;
    await rm(join(folder, old), { recursive: true, force: true });
    if (folder !== this.path) await rename(folder, this.path);
  }

  /** Takes the folder away with all that is in it, at once: nobody sees it without its files. */
  async remove(): Promise<void> {
    this.#keys = [];
    const gone = `${this.path}.gone`;
    await rename(this.path, gone);
    await rm(gone, { recursive: true, force: true });
  }

  #dataName(): string {
    return `..2026_11_21_12_00_00.${this.#generation}`;
  }
}
