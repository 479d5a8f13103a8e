import { X509Certificate } from 'node:crypto';
import { errorText, MAX_TIMER_MS, systemReason } from '@kube-dns/base';
import type { CookieSecrets, ServerCookies } from '@kube-dns/transport';
import { parseTsigKey, type TsigKey } from '@kube-dns/wire';
import { ConfigError, StartupError } from './errors.js';
import type { Log } from './log.js';
import { readTextFile } from './text-file.js';

/** Reads a file that the start needs; throws a StartupError with the exit code that names the file and the reason. */
function readStartupFile(path: string, exitCode: number): string {
  try {
    return readTextFile(path);
  } catch (error) {
    throw new StartupError(`cannot read ${path}: ${systemReason(error)}`, exitCode);
  }
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/gs;

/**
 * Reads the certificates of `--tls-ca`, PEM text; undefined for the empty path. Throws a StartupError with the exit
 * code that names the file and the reason.
 */
export function readTlsCa(path: string, exitCode: number): string | undefined {
  if (path === '') return undefined;
  const text = readStartupFile(path, exitCode);
  const certificates = text.match(CERTIFICATE) ?? [];
  if (certificates.length === 0) {
    throw new StartupError(`${path} has no certificate (BEGIN CERTIFICATE, as PEM)`, exitCode);
  }
  certificates.forEach((certificate, at) => {
    try {
      new X509Certificate(certificate);
    } catch (error) {
      const which = `certificate ${at + 1} in ${path}`;
      throw new StartupError(`${which} cannot be read: ${errorText(error)}`, exitCode);
    }
  });
  return certificates.join('\n');
}

/**
 * Reads the key file of `--notify-key`; undefined for the empty path. Throws a StartupError with the exit code that
 * names the file and the reason, and never the secret.
 */
export function readTsigKey(path: string, exitCode: number): TsigKey | undefined {
  if (path === '') return undefined;
  const text = readStartupFile(path, exitCode);
  try {
    return parseTsigKey(text);
  } catch (error) {
    throw new StartupError(`${path} is no TSIG key file: ${errorText(error)}`, exitCode);
  }
}

/** Fewer can be found by trying. */
const LEAST_SECRET_BYTES = 16;

/** What is wrong with the secret of the key of a flag; undefined where nothing is. */
export function weakness(flag: string, key: TsigKey | undefined): string | undefined {
  const { length } = key?.secret ?? { length: LEAST_SECRET_BYTES };
  if (length >= LEAST_SECRET_BYTES) return undefined;
  return `${flag}: a secret of ${8 * length} bits can be guessed: make one with tsig-keygen`;
}

interface CookieSecretFileOptions {
  /** '' is no file: the secret stays as it is. */
  readonly path: string;
  /** Of the StartupError when the file is bad at the start. */
  readonly exitCode: number;
  /** How often the file is read again; 10 s unless given. */
  readonly periodMs?: number;
  readonly log: Pick<Log, 'info' | 'error'>;
  readonly cookies: Pick<ServerCookies, 'use'>;
}

const PERIOD_MS = 10_000;
/** The current secret, and the last one or the next. */
const MAX_SECRETS = 2;
const SECRET = /^[0-9a-f]{32}$/i;

/**
 * Follows the file of `--cookie-secret-file`: cookies are made with its secrets from the start and after each change. A file
 * that is bad later is logged once, and the last good one stays active.
 */
export class CookieSecretFile {
  readonly #options: CookieSecretFileOptions;
  readonly #timer: NodeJS.Timeout | undefined;
  #text = '';
  #lastFailure = '';

  /** Throws a StartupError that names the file and the line, and never a secret. */
  constructor(options: CookieSecretFileOptions) {
    this.#options = options;
    const { path, exitCode, cookies, periodMs = PERIOD_MS } = options;
    if (path === '') return;
    this.#text = readStartupFile(path, exitCode);
    try {
      cookies.use(parseCookieSecrets(this.#text, path));
    } catch (error) {
      throw new StartupError(errorText(error), exitCode);
    }
    const timerMs = Math.min(periodMs, MAX_TIMER_MS);
    this.#timer = setInterval(() => this.reload(), timerMs).unref();
  }

  /** Reads the file again; never throws. */
  reload(): void {
    const { path, log, cookies } = this.#options;
    if (path === '') return;
    try {
      const text = readTextFile(path);
      if (text !== this.#text) {
        cookies.use(parseCookieSecrets(text, path));
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
function parseCookieSecrets(text: string, path: string): CookieSecrets {
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
