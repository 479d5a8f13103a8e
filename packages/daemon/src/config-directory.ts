import { watch, type FSWatcher } from 'node:fs';

import { errorText, MAX_TIMER_MS } from '@kube-dns/base';
import { readConfigDirectory, type ConfigFiles } from './config-files.js';
import { logRefusedConfig, type RefusedConfig } from './config-refusal.js';
import { ConfigChangingError, ConfigMissingError } from './errors.js';
import type { Log } from './log.js';

export interface ConfigDirectoryOptions {
  readonly path: string;
  readonly periodMs: number;
  readonly log: Log;
  /** Applies a new version; throws to refuse it. */
  readonly onChange: (files: ConfigFiles) => void;
  /** Default: `readConfigDirectory`. */
  readonly read?: (path: string) => Promise<ConfigFiles>;
}

const MIN_PERIOD_MS = 100;
/** A swap of a ConfigMap volume is several file system events. */
const SETTLE_MS = 50;
/** A read that a change interrupts is repeated; this many in a row are a failure. */
const MAX_INTERRUPTED_READS = 20;

/**
 * Follows a configuration directory: delivers each new version once. A version that cannot be read, or
 * that `onChange` refuses, is logged once; the previous one stays active. One that does not exist yet is no
 * failure.
 * Polls, because that works on every volume; reacts sooner where the file system reports changes.
 */
export class ConfigDirectory {
  readonly #options: ConfigDirectoryOptions;
  readonly #periodMs: number;
  /** The version last delivered, refused or not; null before the first. */
  #version: string | null = null;
  #lastFailure = '';
  /** Whether the directory did not exist so far, and that was logged. */
  #isAwaited = false;
  #timer: NodeJS.Timeout | null = null;
  #watcher: FSWatcher | null = null;
  #isReading = false;
  /** Changes that the watcher has seen so far. */
  #changes = 0;
  #isSettling = false;
  #interruptedReads = 0;
  #isClosed = false;
  #rejected = 0;
  /** Of the last version that was read. */
  #refusedVersion: RefusedConfig | undefined;
  #refused: RefusedConfig | undefined;

  constructor(options: ConfigDirectoryOptions) {
    this.#options = options;
    this.#periodMs = Math.min(Math.max(options.periodMs, MIN_PERIOD_MS), MAX_TIMER_MS);
  }

  /** Reads once and delivers the version, then follows. Never rejects: failures are logged. */
  async start(): Promise<void> {
    await this.#poll();
  }

  /** How many versions could not be read or were refused. */
  get rejected(): number {
    return this.#rejected;
  }

  /** Why the version that is there now is not active; undefined when it is. */
  get refused(): RefusedConfig | undefined {
    return this.#refused;
  }

  /** Stops following; may be called twice. */
  close(): void {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#unwatch();
  }

  async #poll(): Promise<void> {
    if (this.#isReading || this.#isClosed) return;
    this.#isReading = true;
    this.#isSettling = false;
    const changesBefore = this.#changes;
    // Watching begins before the read: a change in between must not be missed.
    this.#watch();
    try {
      const { path, read = readConfigDirectory } = this.#options;
      this.#deliver(await read(path));
      this.#interruptedReads = 0;
    } catch (error) {
      if (error instanceof ConfigChangingError) this.#interruptedReads++;
      else this.#interruptedReads = 0;
      if (!this.#isInterrupted()) {
        // Another directory may be in its place by now.
        this.#unwatch();
        this.#watch();
        if (error instanceof ConfigMissingError && this.#version === null) this.#noteMissing();
        else this.#logFailure(errorText(error));
      }
    }
    this.#isReading = false;
    const isUnchanged = this.#changes === changesBefore && !this.#isInterrupted();
    this.#schedule(isUnchanged ? this.#periodMs : SETTLE_MS);
  }

  /** Whether a change interrupted the last read, too few times in a row to be logged. */
  #isInterrupted(): boolean {
    return this.#interruptedReads > 0 && this.#interruptedReads < MAX_INTERRUPTED_READS;
  }

  #deliver(files: ConfigFiles): void {
    if (this.#isClosed) return;
    if (this.#lastFailure !== '') {
      this.#options.log.info(`config: ${this.#options.path} is readable again`);
      this.#lastFailure = '';
      this.#refused = this.#refusedVersion;
    } else if (this.#isAwaited) {
      this.#options.log.info(`config: ${this.#options.path} exists now`);
    }
    this.#isAwaited = false;
    if (files.version === this.#version) return;
    this.#version = files.version;
    try {
      this.#options.onChange(files);
      this.#refusedVersion = undefined;
    } catch (error) {
      this.#rejected++;
      this.#refusedVersion = logRefusedConfig(this.#options.log, error);
    }
    this.#refused = this.#refusedVersion;
  }

  /** The volume of an optional ConfigMap: it may come later, or never. */
  #noteMissing(): void {
    if (this.#isClosed || this.#isAwaited) return;
    this.#isAwaited = true;
    this.#options.log.info(
      `config: ${this.#options.path} does not exist yet; it is read once it does`,
    );
  }

  /** The same failure recurs every period; it is logged once. */
  #logFailure(message: string): void {
    if (this.#isClosed || message === this.#lastFailure) return;
    this.#lastFailure = message;
    this.#rejected++;
    this.#refused = logRefusedConfig(this.#options.log, message);
  }

  #schedule(delayMs: number): void {
    if (this.#isClosed) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#poll(), delayMs);
    this.#timer.unref();
  }

  #watch(): void {
    if (this.#watcher !== null || this.#isClosed) return;
    try {
      this.#watcher = watch(this.#options.path, { persistent: false }, () => this.#noteChange());
      this.#watcher.on('error', () => this.#unwatch());
    } catch {
      /* no such directory, or no watching on this file system: polling continues */
    }
  }

  #unwatch(): void {
    this.#watcher?.close();
    this.#watcher = null;
  }

  /** The first event schedules the read: a stream of events must not delay it. */
  #noteChange(): void {
    this.#changes++;
    if (this.#isReading || this.#isSettling) return;
    this.#isSettling = true;
    this.#schedule(SETTLE_MS);
  }
}
