import { execFileSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Closable, TemporaryFolder } from '@kube-dns/testkit';

/**
 * Copies of the Node binary that no other process has mapped and that are not in the page cache: a control
 * group that starts one pays for its pages, as the first container on a node does.
 */
export class OwnNode implements Closable {
  readonly #folder = new TemporaryFolder();
  readonly #node: string;

  constructor(node: string) {
    this.#node = node;
  }

  /** The path of a copy on disk; `name` is that of the file. */
  cold(name: string): string {
    const path = join(this.#folder.path, name);
    copyFileSync(this.#node, path);
    // Only pages that are written back can be dropped; GNU dd drops those of the whole file (posix_fadvise).
    execFileSync('sync', [path]);
    execFileSync('dd', [`if=${path}`, 'iflag=nocache', 'count=0', 'status=none']);
    return path;
  }

  close(): Promise<void> {
    return this.#folder.close();
  }
}
