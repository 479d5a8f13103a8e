import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** `dnsmasq` on the PATH of an npm script is ours. */
const DNSMASQ_PATHS = ['/usr/sbin/dnsmasq', '/usr/bin/dnsmasq'];

/** The path of a program of this machine; undefined where it is not installed. */
export function findProgram(name: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** Whether all these programs are installed; tests that need them are skipped otherwise, which it says. */
export function areInstalled(...names: readonly string[]): boolean {
  const missing = names.filter((name) => findProgram(name) === undefined);
  for (const name of missing) process.stderr.write(`skipped: ${name} is not installed\n`);
  return missing.length === 0;
}

/** What the dnsmasq of this path says that it is, `2.90`. */
export function realDnsmasqVersion(path: string): string {
  const text = execFileSync(path, ['--version'], { encoding: 'utf8' });
  return /version (\S+)/.exec(text)?.[1] ?? 'of unknown version';
}

/** The path of the real dnsmasq, of this version if one is given; undefined where there is none. */
export function findRealDnsmasq(version?: string): string | undefined {
  return DNSMASQ_PATHS.find(
    (path) => existsSync(path) && (version === undefined || realDnsmasqVersion(path) === version),
  );
}
