import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { freePort } from './free-port.js';
import { RunningProcess, type Serving } from './processes.js';

/** `dnsmasq` on the PATH of an npm script is ours. */
const PATHS = ['/usr/sbin/dnsmasq', '/usr/bin/dnsmasq'];
const VERSION = '2.90';
const ATTEMPTS = 3;

/** The path of the real dnsmasq of the version that this one follows; undefined when there is none. */
export const REAL_DNSMASQ = PATHS.find(
  (path) =>
    existsSync(path) &&
    execFileSync(path, ['--version'], { encoding: 'utf8' }).includes(`version ${VERSION} `),
);

/** What the real one needs to keep to itself; ours reads no such files. */
const ALONE = [
  '--no-hosts',
  '--conf-file=/dev/null',
  '--user=root',
  '--pid-file=',
  '--bind-interfaces',
];

/** Runs the real dnsmasq on a port that is free and waits until it serves. */
export async function serveReal(options: readonly string[]): Promise<Serving> {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    const own = [`--port=${port}`, '--listen-address=127.0.0.1'];
    const process = new RunningProcess(REAL_DNSMASQ!, [...own, ...ALONE, ...options]);
    try {
      await process.says('started, version');
      return { process, port };
    } catch (error) {
      // The port may have been taken meanwhile.
      if (attempt === ATTEMPTS) throw error;
    }
  }
}
