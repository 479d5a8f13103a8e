import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A ConfigMap volume as kubelet makes it: all its files are replaced by the renaming of one link. */
export class ConfigVolume {
  readonly path: string;
  #generation = 0;
  #keys: readonly string[] = [];

  private constructor(path: string) {
    this.path = path;
  }

  static async create(): Promise<ConfigVolume> {
    return new ConfigVolume(await mkdtemp(join(tmpdir(), 'dnsmasq-volume-')));
  }

  /** Puts these keys in place of all others; a value that is no text becomes JSON. */
  async put(values: Readonly<Record<string, unknown>>): Promise<void> {
    const old = this.#dataName();
    this.#generation++;
    const data = this.#dataName();
    await mkdir(join(this.path, data));
    for (const [key, value] of Object.entries(values)) {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      await writeFile(join(this.path, data, key), text);
    }
    await symlink(data, join(this.path, '..data_tmp'));
    await rename(join(this.path, '..data_tmp'), join(this.path, '..data'));
    const keys = Object.keys(values);
    for (const key of keys.filter((each) => !this.#keys.includes(each))) {
      await symlink(join('..data', key), join(this.path, key));
    }
    for (const key of this.#keys.filter((each) => !keys.includes(each))) {
      await rm(join(this.path, key));
    }
    this.#keys = keys;
    await rm(join(this.path, old), { recursive: true, force: true });
  }

  async remove(): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }

  #dataName(): string {
    return `..2026_11_21_03_10_00.${this.#generation}`;
  }
}
