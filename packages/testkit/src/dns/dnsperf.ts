import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { MeasureError } from '../errors.js';
import { Owned, TemporaryFolder } from '../owned.js';
import { pinnedCommand } from '../process/cores.js';

const run = promisify(execFile);
/** A lost query must not count as outstanding for the usual five seconds. */
const TIMEOUT_SECONDS = 1;
/** As in the project's other measurements. */
const CLIENTS = 4;
const OUTSTANDING = 200;
/**
 * Buffer of each socket of dnsperf, in KiB. With the system's default a socket holds some 200 answers: with
 * more than 800 queries in flight the load generator itself would lose a burst of answers.
 */
const SOCKET_KIB = 4_096;
const GRACE_MS = 20_000;

/** The statistics of one run of dnsperf. */
export interface DnsperfResult {
  readonly queriesPerSecond: number;
  readonly sent: number;
  readonly completed: number;
  readonly lost: number;
  /** Average bytes of an answer. */
  readonly answerBytes: number;
  /** Answers by rcode. */
  readonly rcodes: Readonly<Record<string, number>>;
}

/** Reads the statistics that dnsperf prints at the end; throws a MeasureError without them. */
export function parseDnsperf(output: string): DnsperfResult {
  const number = (name: string) => Number(new RegExp(`${name}:?\\s+([\\d.]+)`).exec(output)?.[1]);
  const result = {
    queriesPerSecond: number('Queries per second'),
    sent: number('Queries sent'),
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
  const answerBytes = number('request \\d+, response');
  return { ...result, answerBytes, rcodes: Object.fromEntries(rcodes) };
}

/** The time to each answer in ms, from the output of dnsperf with `-v`; lost queries are left out. */
export function parseLatencies(output: string): readonly number[] {
  const lines = output.matchAll(/^> [A-Z\d]+ .* (\d+\.\d+)$/gm);
  return Array.from(lines, ([, seconds]) => Number(seconds) * 1_000);
}

/** The version of dnsperf; undefined where it is not installed. */
export async function dnsperfVersion(): Promise<string | undefined> {
  try {
    const { stdout, stderr } = await run('dnsperf', ['-h']);
    return /Version (\S+)/.exec(stdout + stderr)?.[1] ?? 'unknown';
  } catch {
    // not installed
    return undefined;
  }
}

/** The queries of a run of dnsperf, and its limits. */
export interface DnsperfOptions {
  readonly file: string;
  /** Whether the file has messages, each after its length, and not lines of text. */
  readonly isBinary?: boolean;
  readonly seconds: number;
  /** Reads the file at most this often. */
  readonly passes?: number;
  readonly isOverTcp?: boolean;
  /** Number of sockets; default: 4. */
  readonly clients?: number;
  /** Queries in flight at a time; default: 200. */
  readonly outstanding?: number;
  /** Maximum of queries per second. */
  readonly perSecond?: number;
  /** Prints the time to each answer, for `parseLatencies`. */
  readonly printsLatencies?: boolean;
  /** The core that it runs on. */
  readonly core?: number | undefined;
  readonly owned: Owned;
}

function argumentsOf(
  { host, port }: { readonly host: string; readonly port: number },
  options: DnsperfOptions,
): string[] {
  const { clients = CLIENTS, outstanding = OUTSTANDING, perSecond, passes } = options;
  const numbers = {
    '-p': port,
    '-c': clients,
    '-q': outstanding,
    '-t': TIMEOUT_SECONDS,
    '-b': SOCKET_KIB,
    '-l': options.seconds,
    ...(perSecond !== undefined && { '-Q': perSecond }),
    ...(passes !== undefined && { '-n': passes }),
  };
  return [
    ...['-s', host, '-d', options.file],
    ...Object.entries(numbers).flatMap(([flag, value]) => [flag, String(value)]),
    ...(options.isBinary === true ? ['-B'] : []),
    ...(options.isOverTcp === true ? ['-m', 'tcp'] : []),
    ...(options.printsLatencies === true ? ['-v'] : []),
  ];
}

/** The output of dnsperf when it sends the queries of a file to a server. */
export async function dnsperfOutput(
  server: { readonly host: string; readonly port: number },
  options: DnsperfOptions,
): Promise<string> {
  const { command, args } = pinnedCommand(options.core, 'dnsperf', argumentsOf(server, options));
  const own = options.owned.add(new Owned());
  const folder = own.add(new TemporaryFolder());
  const path = join(folder.path, 'output');
  // A file: reading a pipe would take CPU time from the measured cores.
  const file = openSync(path, 'w');
  try {
    const child = spawn(command, args, { stdio: ['ignore', file, 'pipe'] });
    let errors = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (errors += text));
    own.add({ close: () => Promise.resolve(void child.kill('SIGKILL')) });
    const timer = setTimeout(() => child.kill('SIGKILL'), options.seconds * 1_000 + GRACE_MS);
    try {
      const [status] = (await once(child, 'close')) as [number | null];
      if (status !== 0) throw new MeasureError(`dnsperf failed: ${errors.trim().slice(-200)}`);
    } catch (error) {
      if (error instanceof MeasureError) throw error;
      throw new MeasureError('dnsperf cannot be started', { cause: error });
    } finally {
      clearTimeout(timer);
    }
    return readFileSync(path, 'utf8');
  } finally {
    closeSync(file);
    await own.close();
  }
}

/** Sends the queries of a file to a server again and again, as fast as it answers. */
export async function runDnsperf(
  server: { readonly host: string; readonly port: number },
  options: DnsperfOptions,
): Promise<DnsperfResult> {
  return parseDnsperf(await dnsperfOutput(server, options));
}
