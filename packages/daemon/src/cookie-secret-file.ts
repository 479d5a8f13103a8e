import { errorText, MAX_TIMER_MS, systemReason } from '@kube-dns/base';
import { ConfigError, StartupError } from './errors.js';
import type { Log } from './log.js';
import { readStartupFile } from './startup-file.js';
import { readTextFile } from './text-file.js';

/** The secret that cookies are made with, and others whose cookies are still taken. */
export type Secrets = readonly [current: Uint8Array, ...others: readonly Uint8Array[]];

export interface CookieSecretFileOptions {
  readonly path: string;
  /** Of the StartupError when the file is bad at the start. */
  readonly exitCode: number;
  /** How often the file is read again; 10 s unless given. */
  readonly periodMs?: number;
  readonly log: Pick<Log, 'info' | 'error'>;
  readonly onChange: (secrets: Secrets) => void;
}

const PERIOD_MS = 10_000;
/** The current secret, and the last one or the next. */
const MAX_SECRETS = 2;
const SECRET = /^[0-9a-f]{32}$/i;

/**
 * Follows the file of `--cookie-secret-file`: delivers its secrets at the start and after each change. A file that is
 * bad later is logged once, and the last good one stays active.
 */
export class CookieSecretFile {
  readonly #options: CookieSecretFileOptions;
  readonly #timer: NodeJS.Timeout;
  #text: string;
  #lastFailure = '';

  /** Throws a StartupError that names the file and the line, and never a secret. */
  constructor(options: CookieSecretFileOptions) {
    this.#options = options;
    const { path, exitCode, onChange, periodMs = PERIOD_MS } = options;
    this.#text = readStartupFile(path, exitCode);
    try {
      onChange(parseCookieSecrets(this.#text, path));
    } catch (error) {
      throw new StartupError(errorText(error), exitCode);
    }
    const timerMs = Math.min(periodMs, MAX_TIMER_MS);
    this.#timer = setInterval(() => this.reload(), timerMs).unref();
  }

  /** Reads the file again; never throws. */
  reload(): void {
    const { path, log, onChange } = this.#options;
    try {
      const text = readTextFile(path);
      if (text !== this.#text) {
        onChange(parseCookieSecrets(text, path));
        log.info(`the cookie secrets of ${path} changed`);
      }
      this.#text = text;
      this.#lastFailure = '';
    } catch (error) {
      const failure =
        error instanceof ConfigError
          ? error.message
          : `cannot read ${path}: ${systemReason(error)}`;
      if (failure !== this.#lastFailure)
        log.error(`${failure}; the last cookie secrets stay active`);
      this.#lastFailure = failure;
    }
  }

  /** Reads no more; may be called twice. */
  close(): void {
    clearInterval(this.#timer);
  }
}

/** The secrets of a file's text, one a line; throws a ConfigError that names the file and the line. */
export function parseCookieSecrets(text: string, path: string): Secrets {
  const lines = text.trimEnd().split('\n');
  const [current, ...others] = lines.map((line, i) => {
    const where = `${path}:${i + 1}`;
    if (i >= MAX_SECRETS)
      throw new ConfigError([`${where}: more than ${MAX_SECRETS} cookie secrets`]);
    const digits = line.trim();
    if (SECRET.test(digits)) return new Uint8Array(Buffer.from(digits, 'hex'));
    throw new ConfigError([`${where}: a cookie secret has 32 hexadecimal digits`]);
  });
  return [current!, ...others];
}
