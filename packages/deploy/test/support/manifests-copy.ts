import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TemporaryFolder } from '@kube-dns/testkit';
import { MANIFESTS } from '@kube-dns/testkit/manifests';

/** Calls `look` with the path of a copy of manifests/, in which it may change files; the copy is gone afterwards. */
export async function withManifestsCopy(
  look: (copy: string) => void | Promise<void>,
): Promise<void> {
  const folder = new TemporaryFolder();
  try {
    const copy = join(folder.path, 'manifests');
    cpSync(MANIFESTS, copy, { recursive: true });
    await look(copy);
  } finally {
    await folder.close();
  }
}

/** Puts other texts into a file, each in place of one that is there. */
export function editFile(path: string, ...changes: readonly (readonly [string, string])[]): void {
  let text = readFileSync(path, 'utf8');
  for (const [from, to] of changes) {
    if (!text.includes(from)) throw new Error(`no ${from} in ${path}`);
    text = text.replace(from, to);
  }
  writeFileSync(path, text);
}
