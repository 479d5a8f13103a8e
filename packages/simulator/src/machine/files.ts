import { posix } from 'node:path';
import type { Scheduler } from '../scheduler.js';

interface FileNode {
  readonly kind: 'file';
  readonly inode: number;
  bytes: Buffer;
  changedMs: number;
}

interface FolderNode {
  readonly kind: 'folder';
  readonly inode: number;
  readonly changedMs: number;
}

interface LinkNode {
  readonly kind: 'link';
  readonly inode: number;
  readonly target: string;
  readonly changedMs: number;
}

export type Node = FileNode | FolderNode | LinkNode;
/** Called with the name, in its folder, of what was made, written, renamed or removed. */
type Watcher = (event: 'rename' | 'change', name: string) => void;

const MAX_LINKS = 40;

/** The files of a machine, in memory: folders, symbolic links, watches. Paths are absolute. */
export class MachineFiles {
  readonly #scheduler: Scheduler;
  readonly #nodes = new Map<string, Node>();
  readonly #watchers = new Map<string, Set<Watcher>>();
  #lastInode = 0;
  /** Writing fails with ENOSPC. */
  isFull = false;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
    this.#nodes.set('/', this.#folder());
  }

  /** Writes a file, and makes its folders. */
  write(path: string, content: string | Buffer): void {
    this.makeFolder(posix.dirname(path));
    const target = this.resolve(path) ?? path;
    const known = this.#nodes.get(target);
    const bytes = Buffer.from(content as string);
    if (known?.kind === 'file') {
      known.bytes = bytes;
      known.changedMs = this.#nowMs();
      this.#changed('change', target);
      return;
    }
    this.#nodes.set(target, {
      kind: 'file',
      inode: ++this.#lastInode,
      bytes,
      changedMs: this.#nowMs(),
    });
    this.#changed('rename', target);
  }

  makeFolder(path: string): void {
    if (this.find(path)?.kind === 'folder') return;
    this.makeFolder(posix.dirname(path));
    this.#nodes.set(path, this.#folder());
    this.#changed('rename', path);
  }

  link(path: string, target: string): void {
    this.#nodes.set(path, {
      kind: 'link',
      inode: ++this.#lastInode,
      target,
      changedMs: this.#nowMs(),
    });
    this.#changed('rename', path);
  }

  /** Moves a file, a link, or a folder with all that is in it, and replaces what was there. */
  rename(from: string, to: string): void {
    for (const [path, node] of [...this.#nodes]) {
      if (path !== from && !path.startsWith(`${from}/`)) continue;
      this.#nodes.delete(path);
      this.#nodes.set(to + path.slice(from.length), node);
    }
    this.#changed('rename', from);
    this.#changed('rename', to);
  }

  remove(path: string): void {
    for (const known of [...this.#nodes.keys()]) {
      if (known === path || known.startsWith(`${path}/`)) this.#nodes.delete(known);
    }
    this.#changed('rename', path);
  }

  /**
   * What the kubelet does with a ConfigMap: a new folder with the files, and `..data` renamed to lead to it, so that
   * all files change at once.
   */
  mountConfigMap(folder: string, data: Readonly<Record<string, string>>): void {
    this.makeFolder(folder);
    const version = `..${(++this.#lastInode).toString(36)}`;
    this.makeFolder(`${folder}/${version}`);
    for (const [name, text] of Object.entries(data))
      this.write(`${folder}/${version}/${name}`, text);
    const old = this.#nodes.get(`${folder}/..data`);
    this.link(`${folder}/..data_tmp`, version);
    this.rename(`${folder}/..data_tmp`, `${folder}/..data`);
    for (const name of this.list(folder)) {
      if (!name.startsWith('..') && !(name in data)) this.remove(`${folder}/${name}`);
    }
    for (const name of Object.keys(data)) {
      if (!this.#nodes.has(`${folder}/${name}`)) this.link(`${folder}/${name}`, `..data/${name}`);
    }
    if (old?.kind === 'link') this.remove(`${folder}/${old.target}`);
  }

  /** The path without symbolic links; undefined when nothing is there. */
  resolve(path: string): string | undefined {
    let done = '/';
    let rest = posix.resolve('/', path).split('/').filter(Boolean);
    for (let links = 0; rest.length > 0;) {
      const next = posix.join(done, rest[0]!);
      const node = this.#nodes.get(next);
      if (node === undefined) return undefined;
      rest = rest.slice(1);
      if (node.kind !== 'link') {
        done = next;
        continue;
      }
      if (++links > MAX_LINKS) return undefined;
      const target = posix.resolve(done, node.target);
      rest = [...target.split('/').filter(Boolean), ...rest];
      done = '/';
    }
    return done;
  }

  find(path: string): Node | undefined {
    const resolved = this.resolve(path);
    return resolved === undefined ? undefined : this.#nodes.get(resolved);
  }

  /** The link itself, not what it leads to. */
  findLink(path: string): Node | undefined {
    const folder = this.resolve(posix.dirname(path));
    return folder === undefined
      ? undefined
      : this.#nodes.get(posix.join(folder, posix.basename(path)));
  }

  list(folder: string): string[] {
    const path = this.resolve(folder);
    if (path === undefined) return [];
    const prefix = path === '/' ? '/' : `${path}/`;
    return [...this.#nodes.keys()]
      .filter((known) => known.startsWith(prefix) && known.length > prefix.length)
      .map((known) => known.slice(prefix.length))
      .filter((name) => !name.includes('/'))
      .sort();
  }

  /** What happens to a file or in a folder; the result ends it. */
  watch(path: string, watcher: Watcher): () => void {
    const resolved = this.resolve(path) ?? path;
    const watchers = this.#watchers.get(resolved) ?? new Set();
    this.#watchers.set(resolved, watchers.add(watcher));
    return () => void watchers.delete(watcher);
  }

  #changed(event: 'rename' | 'change', path: string): void {
    const name = posix.basename(path);
    for (const watched of [path, posix.dirname(path)]) {
      for (const watcher of this.#watchers.get(watched) ?? []) watcher(event, name);
    }
  }

  #folder(): FolderNode {
    return { kind: 'folder', inode: ++this.#lastInode, changedMs: this.#nowMs() };
  }

  #nowMs(): number {
    return this.#scheduler.nowUs / 1_000;
  }
}
