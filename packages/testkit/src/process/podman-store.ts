import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { type Closable, TemporaryFolder } from '../owned.js';
import { findProgram } from './installed.js';

/** A separate store of podman and its settings: neither images nor network of this machine are touched. */
export class PodmanStore implements Closable {
  /** Variables for all programs that call podman. */
  readonly variables: Readonly<Record<string, string>>;
  readonly #folder = new TemporaryFolder();

  constructor() {
    const storage = `[storage]\ndriver = "overlay"\ngraphroot = "${this.folder}/graph"\nrunroot = "${this.folder}/run"\n`;
    // runc, because crun refuses a machine with both versions of control groups; limits, because a machine
    // without CAP_SYS_RESOURCE cannot raise its own.
    const runtime = findProgram('runc') === undefined ? '' : 'runtime = "runc"\n';
    const settings =
      '[containers]\ndefault_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]\n' +
      `[engine]\n${runtime}cgroup_manager = "cgroupfs"\nevents_logger = "file"\n`;
    this.variables = {
      NODE_OPTIONS: '',
      BUILDAH_ISOLATION: 'chroot',
      CONTAINERS_STORAGE_CONF: this.#folder.file('storage.conf', storage),
      CONTAINERS_CONF: this.#folder.file('containers.conf', settings),
    };
  }

  /** For this store, and for files of its user. */
  get folder(): string {
    return this.#folder.path;
  }

  /** Ends and removes all that is in it. */
  close(): Promise<void> {
    const env = { ...process.env, ...this.variables };
    for (const words of [
      ['rm', '--all', '--force', '--time', '0'],
      ['rmi', '--all', '--force'],
    ]) {
      execFileSync('podman', words, { env, stdio: 'pipe' });
    }
    try {
      execFileSync('umount', [join(this.folder, 'graph', 'overlay')], { stdio: 'ignore' });
    } catch {
      // Not mounted: podman does that only on some file systems.
    }
    return this.#folder.close();
  }
}
