import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Closable } from './owned.js';

/** The content of a ConfigMap; a value that is no string is written as JSON. */
export type ConfigKeys = Readonly<Record<string, unknown>>;

const CURRENT = '..data';
const FOLDER_MODE = 0o755;

/**
 * A ConfigMap volume as kubelet writes it (kubernetes pkg/volume/util/atomic_writer.go): `KEY` points to
 * `..data/KEY`, `..data` to a folder with a date in its name, and a new version renames that one
 * link. Links of keys are added and removed after that.
 */
export class ConfigVolume implements Closable {
  readonly path: string;
  #generation = 0;

  /** The folder may be missing: the first `put` creates it. */
  constructor(path: string) {
    this.path = path;
  }

  /** A volume in a temporary folder that other users may read; without `keys` it is empty. */
  static async create(keys?: ConfigKeys): Promise<ConfigVolume> {
    const volume = new ConfigVolume(await mkdtemp(join(tmpdir(), 'kube-dns-volume-')));
    await chmod(volume.path, FOLDER_MODE);
    if (keys !== undefined) await volume.put(keys);
    return volume;
  }

  /**
   * Replaces all keys. A missing folder appears together with its files, as it does for a container that
   * starts.
   */
  async put(keys: ConfigKeys): Promise<void> {
    if (!existsSync(this.path)) {
      const whole = new ConfigVolume(`${this.path}.new`);
      whole.#generation = this.#generation;
      await mkdir(whole.path, { recursive: true });
      await whole.put(keys);
      this.#generation = whole.#generation;
      await rename(whole.path, this.path);
      return;
    }
    const old = this.#dataName();
    await this.swap(keys);
    await this.link(keys);
    await rm(join(this.path, old), { recursive: true, force: true });
  }

  /** The first step of a change; the links are still those of the former keys. */
  async swap(keys: ConfigKeys): Promise<void> {
    this.#generation++;
    const data = this.#dataName();
    await mkdir(join(this.path, data));
    for (const [key, value] of Object.entries(keys)) {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      await writeFile(join(this.path, data, key), text);
    }
    await symlink(data, join(this.path, '..data_tmp'));
    await rename(join(this.path, '..data_tmp'), join(this.path, CURRENT));
  }

  /** The second step: links for exactly these keys. */
  async link(keys: ConfigKeys): Promise<void> {
    const linked = (await readdir(this.path)).filter((name) => !name.startsWith('.'));
    for (const key of Object.keys(keys).filter((each) => !linked.includes(each))) {
      await symlink(join(CURRENT, key), join(this.path, key));
    }
    for (const key of linked.filter((each) => !Object.hasOwn(keys, each))) {
      await rm(join(this.path, key));
    }
  }

  /** Removes the folder with its files in one step: no reader sees the folder without its files. */
  async remove(): Promise<void> {
    const gone = `${this.path}.gone`;
    await rename(this.path, gone);
    await rm(gone, { recursive: true, force: true });
  }

  /** Removes the folder; may be called twice. */
  async close(): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }

  #dataName(): string {
    return `..2026_11_21_12_00_00.${this.#generation}`;
  }
}
