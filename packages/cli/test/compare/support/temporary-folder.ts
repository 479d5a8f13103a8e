import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder that is gone when it is closed. */
export class TemporaryFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'kube-dns-compare-'));

  /** Writes a file and gives its path. */
  file(name: string, text = ''): string {
    const file = join(this.path, name);
    writeFileSync(file, text);
    return file;
  }

  close(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
