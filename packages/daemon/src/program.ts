import process from 'node:process';

import {
  errorText,
  type FlagSpec,
  type FlagValues,
  type LogFormat,
  type ParsedFlags,
  parseFlags,
  type Program,
  requestedLogFormat,
  UsageError,
  usageText,
} from '@kube-dns/base';
import { unblockSigusr1 } from '@kube-dns/transport';
import { StartupError } from './errors.js';
import { createLog, createStderrWriter, escapeMessage, type Log } from './log.js';
import { IdleCollection } from './idle-collection.js';
import type { LocalPage } from './local/local-page.js';
import { SignalHandling, type Signals } from './signals.js';
import { RecentNotices, type StatusSource } from './status/status-report.js';
import { statusPages } from './status/status-page.js';

/** Facts about the program itself, for its metrics. */
export interface ProgramFacts {
  readonly version: string;
  /** Uncaught errors since the start; they are logged, and the program continues. */
  readonly unexpectedErrors: () => number;
}

/** What the `main` of a program receives. */
export interface ProgramContext<S extends FlagSpec> {
  readonly values: FlagValues<S>;
  readonly positional: readonly string[];
  readonly isSet: (name: keyof S & string) => boolean;
  readonly log: Log;
  readonly signals: Signals;
  readonly argv: readonly string[];
  /** Writes the log elsewhere than to stderr from now on. */
  readonly writeLogTo: (write: (line: string) => void) => void;
  readonly facts: ProgramFacts;
  /** The status pages, by path. */
  readonly statusPages: (source: StatusSource) => ReadonlyMap<string, LocalPage>;
}

export interface RunOptions {
  /** The arguments without the runtime and the script; by default those of the process. */
  readonly argv?: readonly string[];
  /** The longest that closing may take after SIGTERM; by default 30 s, as kubelet's grace period. */
  readonly terminateLimitMs?: number;
}

const EXIT_USAGE = 2;
const EXIT_UNEXPECTED = 1;
const TERMINATE_LIMIT_MS = 30_000;
/** The longest that writing the last lines to a slow pipe may take. */
const LAST_LINES_MS = 1_000;

/**
 * Runs the process of a container: reads the flags, prints help, version and start-up errors with the
 * exit codes of the Go programs (2 for usage, that of a StartupError, 1 for any other error), and calls
 * `main`, which may throw a UsageError for flags that exclude each other.
 * After `main` has resolved, an uncaught error is logged and counted and does not end the process, and garbage is
 * collected when the program is idle.
 */
export function runProgram<S extends FlagSpec>(
  program: Program<S>,
  main: (context: ProgramContext<S>) => Promise<void>,
  options: RunOptions = {},
): void {
  const argv = options.argv ?? process.argv.slice(2);
  const flags = readFlags(program, argv);
  if (flags === null) return;

  const errorLine = (message: string) => lastLine(program, message, flags.logFormat);
  const formatNote = flags.logFormat === 'json' ? errorLine : undefined;
  let writeLine = createStderrWriter(process.stderr, formatNote);
  const notices = new RecentNotices();
  const log = notices.beside(
    createLog({
      name: program.name,
      verbosity: flags.verbosity,
      format: flags.logFormat,
      write: (line) => writeLine(line),
    }),
  );
  const fail = (error: unknown) => {
    if (error instanceof UsageError) {
      exitWith(EXIT_USAGE, errorLine(error.message));
      return;
    }
    const isExpected = error instanceof StartupError;
    // A start-up error is one line, also with the -v=2 of the manifests; a defect shows its stack.
    if (!isExpected && error instanceof Error) log.verbose(1, error.stack ?? '');
    const exitCode = isExpected ? error.exitCode : EXIT_UNEXPECTED;
    exitWith(exitCode, errorLine(errorText(error)));
  };
  const uncaught = watchUncaught(log, fail);
  const signals = new SignalHandling({
    source: process,
    log,
    receiveSigusr1: () => void unblockSigusr1(),
    exit: (code) => exitWith(code, ''),
    terminateLimitMs: options.terminateLimitMs ?? TERMINATE_LIMIT_MS,
  });
  const facts = { version: program.version, unexpectedErrors: uncaught.count };
  const about = { program: program.name, flags: program.flags, given: flags.given, notices };
  main({
    values: flags.values,
    positional: flags.positional,
    isSet: flags.isSet,
    log,
    signals,
    argv,
    writeLogTo: (write) => void (writeLine = write),
    facts,
    statusPages: (source) => statusPages({ ...about, ...facts }, source),
  }).then(() => {
    uncaught.markStarted();
    new IdleCollection();
  }, fail);
}

/** The flags to run with, or null when there is nothing to run. */
function readFlags<S extends FlagSpec>(
  program: Program<S>,
  argv: readonly string[],
): ParsedFlags<S> | null {
  // A reader that closes the pipe (`--help | head -1`) is no reason for a stack trace.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  try {
    const flags = parseFlags(program, argv);
    if (flags.request === 'run') return flags;
    process.stdout.write(requestedText(program, flags.request));
    process.exitCode = 0;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(lastLine(program, error.message, requestedLogFormat(argv)));
    process.exitCode = EXIT_USAGE;
  }
  return null;
}

/** Why the program ends, in the form of its log. */
function lastLine({ name }: Program, message: string, format: LogFormat): string {
  let line = `${name}: ${escapeMessage(message)}\n`;
  if (format === 'json') {
    createLog({ name, verbosity: 0, format, write: (text) => void (line = text) }).error(message);
  }
  return line;
}

function requestedText(program: Program, request: 'help' | 'version' | 'raw-version'): string {
  switch (request) {
    case 'help':
      return usageText(program);
    case 'version':
      return `Kube-DNS ${program.version}\n`;
    case 'raw-version':
      return `${JSON.stringify(program.version)}\n`;
  }
}

/** Until `markStarted` is called an uncaught error ends the start-up; afterwards it is counted. */
function watchUncaught(
  log: Log,
  fail: (error: unknown) => void,
): { markStarted: () => void; count: () => number } {
  let isStarting = true;
  let count = 0;
  const handle = (error: unknown) => {
    if (isStarting) {
      fail(error);
      return;
    }
    count++;
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    log.error(`unexpected error, continuing: ${text}`);
  };
  process.on('uncaughtException', handle);
  process.on('unhandledRejection', handle);
  return { markStarted: () => void (isStarting = false), count: () => count };
}

/** Ends the process once its last lines are written, or after a second when they are not read. */
function exitWith(code: number, lastLines: string): void {
  const exit = () => process.exit(code);
  process.exitCode = code;
  setTimeout(exit, LAST_LINES_MS);
  process.stderr.write(lastLines, exit);
}
