/** The first versions of Node that share a port between processes, over UDP and TCP: earlier ones ignore the option. */
const FIRST_MINOR: Readonly<Record<number, number>> = { 22: 12, 23: 1 };
const FIRST_MAJOR = 24;

/** Throws an error that names this version of Node when its sockets cannot share a port (SO_REUSEPORT). */
export function requireReusePort(version = process.versions.node): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const hasIt = major >= FIRST_MAJOR || minor >= (FIRST_MINOR[major] ?? Infinity);
  if (!hasIt) throw new Error(`Node ${version} cannot share a port; 22.12, 23.1 or later can`);
}
