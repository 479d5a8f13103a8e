import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** The bundle of a container that this checkout has built. */
export function builtProgram(name: 'dnsmasq' | 'kubedns'): string {
  const manifest = createRequire(import.meta.url).resolve(`@kube-dns/${name}/package.json`);
  return join(dirname(manifest), 'dist', `${name}.cjs`);
}

/** Whether a container's help speaks of a flag; false when it prints no help. */
export function knowsFlag(node: string, program: string, flag: string): Promise<boolean> {
  return new Promise((resolve) => {
    // kubedns prints its help on stderr, as the original does.
    execFile(node, [program, '--help'], (_error, stdout, stderr) => {
      resolve(new RegExp(`^\\s*-.*\\b${flag}\\b`, 'm').test(stdout + stderr));
    });
  });
}
