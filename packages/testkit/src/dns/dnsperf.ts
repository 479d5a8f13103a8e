import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { MeasureError } from '../errors.js';
import { Owned } from '../owned.js';
import { pinnedCommand } from '../process/cores.js';
import { TemporaryFolder } from '../temporary-folder.js';

const run = promisify(execFile);
/** One that got lost must not hold its place among those under way for the usual five seconds. */
const PATIENCE_SECONDS = 1;
/** As in the project's other measurements. */
const CLIENTS = 4;
const OUTSTANDING = 200;
/**
 * KiB of each of dnsperf's sockets. With the system's default one of them holds some 200 answers, so
 * that beyond 800 under way a burst of answers is lost in the load generator itself.
 */
const SOCKET_KIB = 4_096;
const GRACE_MS = 20_000;

/** What one run of dnsperf says. */
export interface DnsperfResult {
  readonly queriesPerSecond: number;
  readonly sent: number;
  readonly completed: number;
  readonly lost: number;
  /** Bytes of an answer, on average. */
  readonly answerBytes: number;
  /** Answers by rcode. */
  readonly rcodes: Readonly<Record<string, number>>;
}

/** Reads the statistics that dnsperf prints in the end; throws a MeasureError without them. */
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

/** The time to each answer in ms, from what dnsperf prints with `-v`; what got none is left out. */
export function parseLatencies(output: string): readonly number[] {
  const lines = output.matchAll(/^> [A-Z\d]+ .* (\d+\.\d+)$/gm);
  return Array.from(lines, ([, seconds]) => Number(seconds) * 1_000);
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
  /** Whether the file holds messages, each behind its length, and not lines of text. */
  readonly isBinary?: boolean;
  readonly seconds: number;
  /** Goes through the file this often at the most. */
  readonly passes?: number;
  readonly isOverTcp?: boolean;
  /** Sockets; 4 unless said otherwise. */
  readonly clients?: number;
  /** Queries under way at a time; 200 unless said otherwise. */
  readonly outstanding?: number;
  /** Queries each second at the most. */
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
    '-t': PATIENCE_SECONDS,
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

/** All that dnsperf prints when it asks a server what is in a file. */
export async function dnsperfOutput(
  server: { readonly host: string; readonly port: number },
  options: DnsperfOptions,
): Promise<string> {
  const { command, args } = pinnedCommand(options.core, 'dnsperf', argumentsOf(server, options));
  const own = options.owned.add(new Owned());
  const folder = own.add(new TemporaryFolder());
  const path = join(folder.path, 'output');
  // A file, because reading a pipe would take time of the cores that are measured.
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

/** Asks a server what is in a file, over and over, as fast as it answers. */
export async function runDnsperf(
  server: { readonly host: string; readonly port: number },
  options: DnsperfOptions,
): Promise<DnsperfResult> {
  return parseDnsperf(await dnsperfOutput(server, options));
}
