import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';

/** The content of each file by its name. */
type VolumeFiles = ReadonlyMap<string, string | Uint8Array>;

const CURRENT = '..data';
const FOLDER_MODE = 0o755;

/**
 * Replaces all files of a folder as kubelet writes a ConfigMap into its volume (kubernetes
 * pkg/volume/util/atomic_writer.go): `KEY` points to `..data/KEY`, `..data` to a folder with a date in its name, and a
 * new version renames that one link. Links of keys are added and removed after that.
 */
export function writeVolume(folder: string, files: VolumeFiles): void {
  const former = currentOf(folder);
  swapVolume(folder, files);
  linkVolume(folder, files);
  if (former !== undefined) rmSync(join(folder, former), { recursive: true, force: true });
}

/** The first step of {@link writeVolume}; the links are still those of the former keys, and the former files stay. */
export function swapVolume(folder: string, files: VolumeFiles): void {
  const date = new Date().toISOString().slice(0, -'.000Z'.length).replaceAll(/[-:T]/g, '_');
  const data = mkdtempSync(join(folder, `..${date}.`));
  chmodSync(data, FOLDER_MODE);
  for (const [key, content] of files) writeFileSync(join(data, key), content);
  const next = join(folder, `${CURRENT}_tmp`);
  symlinkSync(basename(data), next);
  renameSync(next, join(folder, CURRENT));
}

/** The second step: links for exactly these files. */
export function linkVolume(folder: string, files: VolumeFiles): void {
  const linked = readdirSync(folder).filter((name) => !name.startsWith('..'));
  for (const key of files.keys()) {
    if (!linked.includes(key)) symlinkSync(join(CURRENT, key), join(folder, key));
  }
  for (const key of linked) if (!files.has(key)) rmSync(join(folder, key));
}

/** The name of the folder that has the files; undefined in a folder without any. */
function currentOf(folder: string): string | undefined {
  try {
    return readlinkSync(join(folder, CURRENT));
  } catch {
    return undefined; // ENOENT: nothing was written yet
  }
}
