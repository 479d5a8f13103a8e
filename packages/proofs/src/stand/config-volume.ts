import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The keys of a ConfigMap, as files have them. */
export type ConfigKeys = Readonly<Record<string, string>>;

/**
 * The volume of a ConfigMap as kubelet writes it: each version in a folder of its own, `..data` points
 * to the newest, and the keys are links into that.
 */
export class ConfigVolume {
  readonly path: string;
  #version = 0;
  #linked = new Set<string>();

  constructor(path: string, keys: ConfigKeys) {
    this.path = path;
    mkdirSync(path, { recursive: true });
    this.write(keys);
  }

  /** Puts a version in place of the last one, all keys at once. */
  write(keys: ConfigKeys): void {
    const old = `..version-${this.#version}`;
    const folder = `..version-${++this.#version}`;
    mkdirSync(join(this.path, folder));
    for (const [key, value] of Object.entries(keys)) {
      writeFileSync(join(this.path, folder, key), value);
    }
    symlinkSync(folder, join(this.path, '..data_tmp'));
    renameSync(join(this.path, '..data_tmp'), join(this.path, '..data'));
    for (const key of Object.keys(keys)) {
      if (!this.#linked.has(key)) symlinkSync(join('..data', key), join(this.path, key));
      this.#linked.add(key);
    }
    for (const key of this.#linked) {
      if (key in keys) continue;
      rmSync(join(this.path, key));
      this.#linked.delete(key);
    }
    rmSync(join(this.path, old), { recursive: true, force: true });
  }
}
