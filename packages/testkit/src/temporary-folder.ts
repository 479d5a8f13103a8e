import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Closable } from './owned.js';

/** A folder that is removed with its files by `close`. */
export class TemporaryFolder implements Closable {
  readonly path = mkdtempSync(join(tmpdir(), 'kube-dns-test-'));

  /** Writes a file and returns its path. */
  file(name: string, content: string | Uint8Array): string {
    const path = join(this.path, name);
    writeFileSync(path, content);
    return path;
  }

  /** May be called twice. */
  close(): Promise<void> {
    rmSync(this.path, { recursive: true, force: true });
    return Promise.resolve();
  }
}
