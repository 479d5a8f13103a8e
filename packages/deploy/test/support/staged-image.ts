import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Dockerfile,
  type ImageName,
  IMAGES,
  needsOtherUsers,
  RunningProgram,
} from '@kube-dns/testkit';
import { ROOT } from './root.js';

/** The content of the images, made by the script that the Dockerfiles run, and a copy of this Node. */
export class StagedImages {
  readonly folder = mkdtempSync(join(tmpdir(), 'kube-dns-images-'));
  readonly #node = join(this.folder, 'node');
  readonly #reason = needsOtherUsers();

  constructor() {
    execFileSync(process.execPath, [`${ROOT}images/stage.mjs`, this.folder], { stdio: 'pipe' });
    // The user of the image may not read the checkout or a new temporary folder.
    chmodSync(this.folder, 0o755);
    cpSync(process.execPath, this.#node, { dereference: true });
    chmodSync(this.#node, 0o755);
  }

  /** The folder that is /app in the image. */
  app(name: ImageName): string {
    return join(this.folder, name);
  }

  /** Starts a program as its image does: same words, environment, folder and, where that may be, user. */
  start(name: ImageName, args: readonly string[]): StagedProcess {
    const { command, environment, user } = new Dockerfile(name);
    const words = command.slice(1).map((word) => word.replace(/^\/app\b/, this.app(name)));
    return new StagedProcess(name, this.#node, [...words, ...args], {
      cwd: '/',
      env: environment,
      hasOnlyEnv: true,
      ...(this.#reason === undefined && { user }),
    });
  }

  close(): void {
    for (const name of IMAGES) rmSync(this.app(name), { recursive: true, force: true });
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** One run of a program. */
export class StagedProcess extends RunningProgram {
  /** A line of /proc/PID/status. */
  status(field: string): string {
    const text = readFileSync(`/proc/${this.pid}/status`, 'utf8');
    return new RegExp(`^${field}:\\s*(.*)$`, 'm').exec(text)?.[1] ?? '';
  }
}
