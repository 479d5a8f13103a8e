import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { linkVolume, swapVolume, writeVolume } from '@kube-dns/base';
import type { Closable } from './owned.js';

/** The content of a ConfigMap; a value that is no string is written as JSON. */
export type ConfigKeys = Readonly<Record<string, unknown>>;

const FOLDER_MODE = 0o755;

/** A ConfigMap volume as kubelet writes it. */
export class ConfigVolume implements Closable {
  readonly path: string;

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
    if (existsSync(this.path)) {
      writeVolume(this.path, filesOf(keys));
      return;
    }
    const whole = `${this.path}.new`;
    await mkdir(whole, { recursive: true });
    writeVolume(whole, filesOf(keys));
    await rename(whole, this.path);
  }

  /** The first step of a change; the links are still those of the former keys. */
  swap(keys: ConfigKeys): void {
    swapVolume(this.path, filesOf(keys));
  }

  /** The second step: links for exactly these keys. */
  link(keys: ConfigKeys): void {
    linkVolume(this.path, filesOf(keys));
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
}

function filesOf(keys: ConfigKeys): ReadonlyMap<string, string> {
  const texts = Object.entries(keys).map(
    ([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)] as const,
  );
  return new Map(texts);
}
