import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from './dockerfile.js';
import { hasCommand } from './tools.js';

/**
 * Whether images are built and run here: in CI only, as that takes a minute and asks the registries of
 * npm and Debian; with podman, runc, root, and apt for a base image.
 */
export function canRunImages(): boolean {
  if (!process.env.CI) {
    process.stderr.write('skipped: without CI=true no image is built\n');
    return false;
  }
  if (process.getuid?.() !== 0) {
    process.stderr.write('skipped: only root can run images in a test\n');
    return false;
  }
  return ['podman', 'runc', 'apt-get', 'dpkg-deb', 'nsenter', 'dig'].every(hasCommand);
}

/** A podman with a store of its own, which touches neither images nor network of this machine. */
export class Podman {
  readonly folder = mkdtempSync(join(tmpdir(), 'kube-dns-podman-'));
  /** What the programs that call podman need in their environment. */
  readonly environment: NodeJS.ProcessEnv;

  constructor() {
    const storage = join(this.folder, 'storage.conf');
    const settings = join(this.folder, 'containers.conf');
    writeFileSync(
      storage,
      `[storage]\ndriver = "overlay"\ngraphroot = "${this.folder}/graph"\nrunroot = "${this.folder}/run"\n`,
    );
    // runc, because crun refuses a machine with both versions of cgroups; limits, because a machine
    // without CAP_SYS_RESOURCE cannot raise its own.
    writeFileSync(
      settings,
      '[containers]\ndefault_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]\n' +
        '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n',
    );
    this.environment = {
      ...process.env,
      NODE_OPTIONS: '',
      CONTAINERS_STORAGE_CONF: storage,
      CONTAINERS_CONF: settings,
      BUILDAH_ISOLATION: 'chroot',
    };
  }

  /** Runs a program in the checkout with this podman in its environment; gives its stdout, throws with its stderr. */
  command(program: string, ...args: string[]): string {
    const options = { cwd: ROOT, env: this.environment, encoding: 'utf8', stdio: 'pipe' } as const;
    return execFileSync(program, args, options).trim();
  }

  run(...args: string[]): string {
    return this.command('podman', ...args);
  }

  /** The process of a container, as this machine sees it. */
  pid(container: string): string {
    return this.run('inspect', '--format', '{{.State.Pid}}', container);
  }

  /** Runs a program in the network of a container. */
  inNetworkOf(container: string, program: string, ...args: string[]): string {
    return this.command('nsenter', '-t', this.pid(container), '-n', program, ...args);
  }

  close(): void {
    this.run('rm', '--all', '--force', '--time', '0');
    this.run('rmi', '--all', '--force');
    try {
      this.command('umount', join(this.folder, 'graph', 'overlay'));
    } catch {
      // Not mounted: podman does that only on some file systems.
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}
