import {
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** The content of a ConfigMap by key. */
export type ConfigMapContent = ReadonlyMap<string, Buffer>;

const CURRENT = '..data';
/** What the API server accepts as a key, too (apimachinery IsConfigMapKey). */
const KEY = /^(?!\.\.)[-._a-zA-Z0-9]+$/;

/**
 * The folder of a ConfigMap volume, written as kubelet does (kubernetes pkg/volume/util/atomic_writer.go):
 * `KEY` points to `..data/KEY`, and a new content becomes visible by renaming the link `..data`.
 */
export class ConfigMapFolder {
  readonly path: string;
  #generation = 0;
  #content: ConfigMapContent = new Map();

  /** The folder exists and is empty. */
  constructor(path: string) {
    this.path = path;
  }

  /** Replaces all keys; returns false, and writes nothing, when nothing changes. */
  write(given: ConfigMapContent): boolean {
    const content = new Map([...given].filter(([key]) => KEY.test(key)));
    if (isEqual(content, this.#content)) return false;
    const former = this.#generation === 0 ? undefined : readlinkSync(join(this.path, CURRENT));
    this.#swap(content);
    this.#link(content);
    if (former !== undefined) rmSync(join(this.path, former), { recursive: true });
    this.#content = content;
    return true;
  }

  #swap(content: ConfigMapContent): void {
    const data = `..${new Date().toISOString().replaceAll(/[-:.TZ]/g, '_')}${++this.#generation}`;
    mkdirSync(join(this.path, data));
    for (const [key, value] of content) writeFileSync(join(this.path, data, key), value);
    const next = join(this.path, `${CURRENT}_tmp`);
    symlinkSync(data, next);
    renameSync(next, join(this.path, CURRENT));
  }

  #link(content: ConfigMapContent): void {
    const linked = readdirSync(this.path).filter((name) => !name.startsWith('..'));
    for (const key of content.keys()) {
      if (!linked.includes(key)) symlinkSync(join(CURRENT, key), join(this.path, key));
    }
    for (const key of linked) if (!content.has(key)) rmSync(join(this.path, key));
  }
}

function isEqual(one: ConfigMapContent, other: ConfigMapContent): boolean {
  return (
    one.size === other.size &&
    [...one].every(([key, value]) => other.get(key)?.equals(value) === true)
  );
}
