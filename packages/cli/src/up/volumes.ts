import { mkdirSync, mkdtempSync, realpathSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { writeVolume } from '@kube-dns/base';
import { reasonOf, StartError } from '../errors.js';
import type { ContainerSpec, MountSpec, VolumeSpec } from './manifest.js';

/** Replaces the mount paths in a text by folders of this machine. */
export type PathTranslator = (text: string) => string;

/**
 * The folders of this machine for the pod's volumes. Mounting needs root; instead every mount path in a
 * text is replaced by the real folder (see {@link Volumes.translator}). Owns its temporary folders until
 * close().
 */
export class Volumes {
  /** The ConfigMaps that containers mount, and their folders, which are empty at first. */
  readonly configMaps: { readonly name: string; readonly folder: string }[] = [];
  readonly #specs: ReadonlyMap<string, VolumeSpec>;
  readonly #manifestFolder: string;
  readonly #file: string;
  readonly #folders = new Map<string, string>();
  #temporary: string | undefined;

  constructor(specs: readonly VolumeSpec[], manifest: { file: string; folder: string }) {
    this.#specs = new Map(specs.map((spec) => [spec.name, spec]));
    this.#manifestFolder = manifest.folder;
    this.#file = manifest.file;
  }

  /**
   * The translator for one container: a mount path is replaced where it is a whole path or the beginning
   * of one. Throws a StartError for a volume that this machine cannot provide.
   */
  translator(container: ContainerSpec): PathTranslator {
    const targets = new Map(
      container.mounts.map((mount) => [mount.mountPath, this.#target(container, mount)]),
    );
    if (targets.size === 0) return (text) => text;
    const longestFirst = [...targets.keys()].sort((a, b) => b.length - a.length);
    const paths = longestFirst.map((path) => path.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    const pattern = new RegExp(`(?<![\\w./-])(?:${paths.join('|')})(?![\\w.-])`, 'g');
    return (text) => text.replace(pattern, (path) => targets.get(path) ?? path);
  }

  /** Removes the temporary folders. Synchronous, so that it also works while the process exits. */
  close(): void {
    if (this.#temporary === undefined) return;
    rmSync(this.#temporary, { recursive: true, force: true });
    this.#temporary = undefined;
    this.#folders.clear();
  }

  #target(container: ContainerSpec, mount: MountSpec): string {
    const spec = this.#specs.get(mount.volume);
    if (spec === undefined) {
      const reason = `mounts the volume ${mount.volume}, which the pod does not have`;
      throw new StartError(`${this.#file}: container ${container.name} ${reason}`);
    }
    const folder = this.#folders.get(spec.name) ?? this.#folderOf(spec);
    this.#folders.set(spec.name, folder);
    return mount.subPath === '' ? folder : join(folder, mount.subPath);
  }

  #folderOf(spec: VolumeSpec): string {
    switch (spec.kind) {
      case 'unsupported':
        throw new StartError(`${this.#file}: volume ${spec.name}: ${spec.reason}`);
      case 'empty':
        return this.#emptyFolder(spec.name);
      case 'config-map': {
        const folder = this.#emptyFolder(spec.name);
        this.configMaps.push({ name: spec.configMap, folder });
        return folder;
      }
      case 'host': {
        const folder = resolve(this.#manifestFolder, spec.path);
        try {
          if (spec.create) mkdirSync(folder, { recursive: true });
          statSync(folder);
        } catch (error) {
          const reason = `volume ${spec.name}: ${folder}: ${reasonOf(error)}`;
          throw new StartError(`${this.#file}: ${reason}`, { cause: error });
        }
        return folder;
      }
    }
  }

  #emptyFolder(name: string): string {
    this.#temporary ??= mkdtempSync(join(realpathSync(tmpdir()), 'kube-dns-up-'));
    const folder = join(this.#temporary, name);
    mkdirSync(folder, { recursive: true });
    return folder;
  }
}

type ConfigMapContent = ReadonlyMap<string, Buffer>;

/** What the API server accepts as a key, too (apimachinery IsConfigMapKey). */
const KEY = /^(?!\.\.)[-._a-zA-Z0-9]+$/;

/** The folder of a ConfigMap volume. */
export class ConfigMapFolder {
  readonly path: string;
  #content: ConfigMapContent = new Map();

  /** The folder exists and is empty. */
  constructor(path: string) {
    this.path = path;
  }

  /** Replaces all keys; returns false, and writes nothing, when nothing changes. */
  write(all: ConfigMapContent): boolean {
    const content = new Map([...all].filter(([key]) => KEY.test(key)));
    if (isEqual(content, this.#content)) return false;
    writeVolume(this.path, content);
    this.#content = content;
    return true;
  }
}

function isEqual(one: ConfigMapContent, other: ConfigMapContent): boolean {
  return (
    one.size === other.size &&
    [...one].every(([key, value]) => other.get(key)?.equals(value) === true)
  );
}

interface ConfigMapFollowerOptions {
  /** The API server, as `http://127.0.0.1:18080`. */
  readonly url: string;
  readonly namespace: string;
  readonly name: string;
  /** An empty folder. */
  readonly folder: string;
  /** Called with the keys of each new content; none when the ConfigMap does not exist. */
  readonly onChange: (keys: readonly string[]) => void;
}

interface ConfigMap {
  readonly metadata?: { readonly resourceVersion?: string };
  readonly data?: Readonly<Record<string, string>> | null;
  readonly binaryData?: Readonly<Record<string, string>> | null;
}

/** The API server starts with the pod, and may be restarted. */
const RETRY_MS = 200;

/**
 * Writes a ConfigMap of the local API server into its volume's folder, and follows it until close(). While
 * the server is away the last content stays; a ConfigMap that does not exist is an empty folder.
 */
export class ConfigMapFollower {
  readonly #options: ConfigMapFollowerOptions;
  readonly #folder: ConfigMapFolder;
  readonly #closing = new AbortController();

  constructor(options: ConfigMapFollowerOptions) {
    this.#options = options;
    this.#folder = new ConfigMapFolder(options.folder);
    void this.#follow();
  }

  /** May be called twice. */
  close(): void {
    this.#closing.abort();
  }

  async #follow(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        await this.#watch(await this.#list());
      } catch {
        /* the server is not there: its container says why */
      }
      await delay(RETRY_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Writes the present content, and returns the version to watch from. */
  async #list(): Promise<string> {
    const list = (await (await this.#get('')).json()) as ConfigMap & { items: ConfigMap[] };
    this.#write(list.items[0]);
    return list.metadata?.resourceVersion ?? '';
  }

  /** Resolves when the watch ends. */
  async #watch(version: string): Promise<void> {
    const { body } = await this.#get(`&watch=true&resourceVersion=${version}`);
    if (body === null) return;
    for await (const line of createInterface({ input: Readable.fromWeb(body) })) {
      const { type, object } = JSON.parse(line) as { type: string; object: ConfigMap };
      if (type === 'ERROR') return;
      if (type !== 'BOOKMARK') this.#write(type === 'DELETED' ? undefined : object);
    }
  }

  async #get(query: string): Promise<Response> {
    const { url, namespace, name } = this.#options;
    const selector = encodeURIComponent(`metadata.name=${name}`);
    const path = `/api/v1/namespaces/${namespace}/configmaps?fieldSelector=${selector}${query}`;
    const response = await fetch(url + path, { signal: this.#closing.signal });
    if (!response.ok) throw new Error(`status ${response.status}`);
    return response;
  }

  #write(object: ConfigMap | undefined): void {
    if (this.#closing.signal.aborted) return;
    const content = contentOf(object);
    if (this.#folder.write(content)) this.#options.onChange([...content.keys()].sort());
  }
}

function contentOf(object: ConfigMap | undefined): ConfigMapContent {
  const content = new Map<string, Buffer>();
  for (const [key, value] of Object.entries(object?.data ?? {})) {
    content.set(key, Buffer.from(value));
  }
  for (const [key, value] of Object.entries(object?.binaryData ?? {})) {
    content.set(key, Buffer.from(value, 'base64'));
  }
  return content;
}
