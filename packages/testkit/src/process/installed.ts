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

/** Whether all these programs are installed; prints the missing ones, as tests that need them are skipped. */
export function areInstalled(...names: readonly string[]): boolean {
  const missing = names.filter((name) => findProgram(name) === undefined);
  for (const name of missing) process.stderr.write(`skipped: ${name} is not installed\n`);
  return missing.length === 0;
}

/** The version of the dnsmasq at this path, for example `2.90`. */
export function realDnsmasqVersion(path: string): string {
  const text = execFileSync(path, ['--version'], { encoding: 'utf8' });
  return /version (\S+)/.exec(text)?.[1] ?? 'of unknown version';
}

/** The path of the real dnsmasq, of this version if given; undefined where it is not installed. */
export function findRealDnsmasq(version?: string): string | undefined {
  return DNSMASQ_PATHS.find(
    (path) => existsSync(path) && (version === undefined || realDnsmasqVersion(path) === version),
  );
}
