import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Closable } from './owned.js';

/** A folder that goes with everything in it when it is closed. */
export class TemporaryFolder implements Closable {
  readonly path = mkdtempSync(join(tmpdir(), 'kube-dns-bench-'));

  close(): Promise<void> {
    rmSync(this.path, { recursive: true, force: true });
    return Promise.resolve();
  }
}
