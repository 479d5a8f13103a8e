import { mkdirSync, mkdtempSync, realpathSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
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
