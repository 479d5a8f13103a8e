import { mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What kubelet does: the files of a ConfigMap volume, replaced all at once. */
export class Volume {
  readonly path: string;
  #generation = 0;

  constructor(path: string) {
    this.path = path;
  }

  async put(files: Record<string, string>): Promise<void> {
    const data = `..2026_${this.#generation++}`;
    await mkdir(join(this.path, data));
    for (const [name, content] of Object.entries(files)) {
      await writeFile(join(this.path, data, name), content);
      await symlink(join('..data', name), join(this.path, name)).catch(() => {
        /* the link is there already */
      });
    }
    await symlink(data, join(this.path, '..data_tmp'));
    await rename(join(this.path, '..data_tmp'), join(this.path, '..data'));
  }
}
