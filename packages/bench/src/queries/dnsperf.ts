import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { MeasureError, messageOf } from '../errors.js';
import type { Owned } from '../owned.js';

const run = promisify(execFile);
/**
 * As in the project's other measurements: four clients, 200 queries under way. One that got lost
 * must not hold its place among these for the usual five seconds.
 */
const LOAD = ['-c', '4', '-q', '200', '-t', '1'];
const GRACE_MS = 20_000;

/** What one run of dnsperf says. */
export interface DnsperfResult {
  readonly queriesPerSecond: number;
  readonly completed: number;
  readonly lost: number;
  /** Answers by rcode. */
  readonly rcodes: Readonly<Record<string, number>>;
}

/** Reads the statistics that dnsperf prints in the end; throws a MeasureError without them. */
export function parseDnsperf(output: string): DnsperfResult {
  const number = (name: string) => Number(new RegExp(`${name}:\\s+([\\d.]+)`).exec(output)?.[1]);
  const result = {
    queriesPerSecond: number('Queries per second'),
    completed: number('Queries completed'),
    lost: number('Queries lost'),
  };
  if (Object.values(result).some(Number.isNaN)) {
    throw new MeasureError(`dnsperf printed no statistics: ${output.slice(-200)}`);
  }
  const codes = /Response codes:\s+(.*)/.exec(output)?.[1] ?? '';
  const rcodes = [...codes.matchAll(/([A-Z]+) (\d+)/g)].map(
    ([, name = '', count]) => [name, Number(count)] as const,
  );
  return { ...result, rcodes: Object.fromEntries(rcodes) };
}

/** The version of dnsperf; undefined where there is none. */
export async function dnsperfVersion(): Promise<string | undefined> {
  try {
    const { stdout, stderr } = await run('dnsperf', ['-h']);
    return /Version (\S+)/.exec(stdout + stderr)?.[1] ?? 'unknown';
  } catch {
    // not installed
    return undefined;
  }
}

/** What is asked, for how long, and who ends it should it come to that. */
export interface DnsperfOptions {
  readonly file: string;
  readonly seconds: number;
  readonly owned: Owned;
}

/** Asks a server what is in a file, over and over, as fast as it answers. */
export async function runDnsperf(
  { host, port }: { readonly host: string; readonly port: number },
  { file, seconds, owned }: DnsperfOptions,
): Promise<DnsperfResult> {
  const args = ['-s', host, '-p', String(port), '-d', file, ...LOAD, '-l', String(seconds)];
  const abort = new AbortController();
  owned.add({
    close: () => {
      abort.abort();
      return Promise.resolve();
    },
  });
  const timeout = seconds * 1_000 + GRACE_MS;
  try {
    const options = { timeout, signal: abort.signal, killSignal: 'SIGKILL' } as const;
    return parseDnsperf((await run('dnsperf', args, options)).stdout);
  } catch (error) {
    if (error instanceof MeasureError) throw error;
    throw new MeasureError(`dnsperf failed: ${messageOf(error)}`, { cause: error });
  }
}
