import { spawnSync } from 'node:child_process';
import { describe } from '@jest/globals';
import {
  findRealDnsmasq,
  freePort,
  needsRealDnsmasq,
  RunningProgram,
  unless,
} from '@kube-dns/testkit';
import { type Serving } from './processes.js';

const ATTEMPTS = 3;

/** The version of dnsmasq that this one follows. */
const VERSION = '2.90';

/** The path of the real dnsmasq; undefined when there is none. */
export const REAL_DNSMASQ = findRealDnsmasq(VERSION);

/** `describe` for tests beside the real dnsmasq. */
export const describeBesideReal: typeof describe = unless(needsRealDnsmasq(VERSION), describe);

/** Why the real dnsmasq asks no server from a device here; undefined where it can. */
export function needsSourceDevice(): string | undefined {
  if (REAL_DNSMASQ === undefined) return undefined;
  // It looks for the right before it writes this file, which it cannot.
  const ends = ['--keep-in-foreground', '--port=0', '--pid-file=/nonexistent/pid'];
  const alone = ['--conf-file=/dev/null', '--user=root', '--log-facility=-', '--no-resolv'];
  const line = [...ends, ...alone, '--server=127.0.0.1@lo'];
  const { stderr } = spawnSync(REAL_DNSMASQ, line, { encoding: 'utf8' });
  return stderr.includes('missing required capability')
    ? 'needs the capability NET_RAW for the real dnsmasq'
    : undefined;
}

/** Options that isolate the real dnsmasq; ours reads no such files. */
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
    const process = new RunningProgram('the real dnsmasq', REAL_DNSMASQ!, [
      ...own,
      ...ALONE,
      ...options,
    ]);
    try {
      await process.waitForLine('started, version');
      return { process, port };
    } catch (error) {
      // The port may have been taken meanwhile.
      if (attempt === ATTEMPTS) throw error;
    }
  }
}
