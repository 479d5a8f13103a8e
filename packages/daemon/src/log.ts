import { pid, stderr } from 'node:process';
import { hideUrlSecrets, type LogFormat } from '@kube-dns/base';

/** The log of a program; each message is one line, whatever it contains. */
export interface Log {
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
  /** Written only when `--v` is at least `level`. */
  verbose(level: number, message: string): void;
  /** To be checked first where building the message is expensive. */
  isEnabled(level: number): boolean;
}

export interface LogOptions {
  readonly name: string;
  readonly verbosity: number;
  /** Text unless given. */
  readonly format?: LogFormat;
  /** Receives one line with its line feed; writes to stderr by default. */
  readonly write?: (line: string) => void;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/** In characters. A longer message is cut: what is logged may come from outside. */
const MAX_MESSAGE = 8_192;
/** What may wait while stderr is not read; further lines are dropped and counted. */
const MAX_WAITING_BYTES = 256 * 1024;

type Severity = 'info' | 'warning' | 'error';

const SEVERITY_CHARACTERS = { info: 'I', warning: 'W', error: 'E' } as const;

/**
 * A log in the form of Go's klog, `I1121 03:10:00.123456   1234 program] message`, or with an object per line,
 * `{"ts":1795230600123.456,"level":"info","logger":"program","msg":"message","v":0}`. An error has `err` in
 * place of `v`.
 */
export function createLog(options: LogOptions): Log {
  const {
    name,
    verbosity,
    format = 'text',
    write = createStderrWriter(),
    now = Date.now,
  } = options;
  const tail = ` ${String(pid).padStart(7)} ${name}] `;
  const line = (severity: Severity, message: string, level = 0) =>
    write(
      format === 'json'
        ? jsonLine(now(), severity, name, message, level)
        : `${SEVERITY_CHARACTERS[severity]}${timestamp(now())}${tail}${escapeMessage(message)}\n`,
    );
  return {
    info: (message) => line('info', message),
    warn: (message) => line('warning', message),
    error: (message) => line('error', message),
    verbose: (level, message) => {
      if (level <= verbosity) line('info', message, level);
    },
    isEnabled: (level) => level <= verbosity,
  };
}

function jsonLine(ts: number, level: Severity, logger: string, text: string, v: number): string {
  const msg = escapeMessage(text);
  const last = level === 'error' ? { err: msg } : { v };
  return `${JSON.stringify({ ts, level, logger, msg, ...last })}\n`;
}

function timestamp(ms: number): string {
  const date = new Date(ms);
  const two = (value: number) => String(value).padStart(2, '0');
  const micros = Math.floor((((ms % 1_000) + 1_000) % 1_000) * 1_000);
  return (
    `${two(date.getMonth() + 1)}${two(date.getDate())} ` +
    `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.` +
    String(micros).padStart(6, '0')
  );
}

const ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Makes one line of any text: control characters (line separators too) become escapes, secrets of URLs are hidden. */
export function escapeMessage(message: string): string {
  // Secrets are looked for before the text is cut, which may leave the half of one.
  const shown = hideUrlSecrets(message.slice(0, 2 * MAX_MESSAGE));
  const cut = shown.length > MAX_MESSAGE ? `${shown.slice(0, MAX_MESSAGE)}…` : shown;
  return cut.replace(
    // oxlint-disable-next-line no-control-regex -- these are the characters to escape
    /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g,
    (character) =>
      ESCAPES[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** A pipe that can be slow or closed: the part of `process.stderr` that the writer below needs. */
export interface LogSink {
  readonly writableLength: number;
  write(text: string): boolean;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

/**
 * Writes lines to a stream that may be closed or read slowly. Errors are ignored, as nowhere is left to
 * report them. Lines that would accumulate in memory are dropped; their number is written before the
 * next line that is not, in the form of `formatNote`.
 */
export function createStderrWriter(
  sink: LogSink = stderr,
  formatNote = (note: string) => `(${note})\n`,
): (line: string) => void {
  let dropped = 0;
  listenOnce(sink);
  return (line) => {
    if (sink.writableLength > MAX_WAITING_BYTES) {
      dropped++;
      return;
    }
    if (dropped > 0) {
      const lines = dropped;
      dropped = 0;
      sink.write(formatNote(`${lines} log lines dropped: stderr is read too slowly`));
    }
    sink.write(line);
  };
}

const guarded = new WeakSet<LogSink>();

function listenOnce(sink: LogSink): void {
  if (guarded.has(sink)) return;
  guarded.add(sink);
  sink.on('error', () => {
    /* such as EPIPE: the reader is gone, the program continues */
  });
}
