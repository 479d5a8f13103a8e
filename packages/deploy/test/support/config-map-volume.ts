import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const CURRENT = '..data';

/**
 * A folder as kubelet keeps it for a volume (`AtomicWriter` of kubernetes/pkg/volume/util): `KEY` points to
 * `..data/KEY`, `..data` to a folder with a date in its name, and a new version is one rename.
 */
export class ConfigMapVolume {
  readonly folder = mkdtempSync(join(tmpdir(), 'kube-dns-volume-'));
  #version = 0;

  constructor(data: Readonly<Record<string, string>>) {
    // The user of the containers has to come in.
    chmodSync(this.folder, 0o755);
    this.#write(data);
    for (const key of Object.keys(data)) symlinkSync(join(CURRENT, key), join(this.folder, key));
  }

  /** Puts new texts in place of those of the same keys, all at once. */
  replace(data: Readonly<Record<string, string>>): void {
    const old = readlinkSync(join(this.folder, CURRENT));
    this.#write(data);
    rmSync(join(this.folder, old), { recursive: true });
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  #write(data: Readonly<Record<string, string>>): void {
    const version = `..2026_11_21_00_00_00.${(this.#version += 1)}`;
    mkdirSync(join(this.folder, version));
    for (const [key, text] of Object.entries(data)) {
      writeFileSync(join(this.folder, version, key), text);
    }
    const link = join(this.folder, '..data_tmp');
    symlinkSync(version, link);
    renameSync(link, join(this.folder, CURRENT));
  }
}
