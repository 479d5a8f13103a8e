import { watch, type FSWatcher } from 'node:fs';

import { readConfigDirectory, type ConfigFiles } from './config-files.js';
import { logRefusedConfig } from './config-refusal.js';
import { ConfigChangingError, errorText } from './errors.js';
import type { Log } from './log.js';
import { MAX_TIMER_MS } from './timer.js';

export interface ConfigDirectoryOptions {
  readonly path: string;
  readonly periodMs: number;
  readonly log: Log;
  /** Applies a new version; throws to refuse it. */
  readonly onChange: (files: ConfigFiles) => void;
}

const MIN_PERIOD_MS = 100;
/** A swap of a ConfigMap volume is several file system events. */
const SETTLE_MS = 50;
/** As many reads that a change disturbed, one after the other, are no failure but bad luck. */
const MAX_DISTURBED_READS = 20;

/**
 * Follows a configuration directory: each new version is delivered once. One that cannot be read, or
 * that `onChange` refuses, is logged once and leaves the previous one in force until it changes.
 * Polls, because that works on every volume; reacts faster where the file system says what changed.
 */
export class ConfigDirectory {
  readonly #options: ConfigDirectoryOptions;
  readonly #periodMs: number;
  /** The version last delivered, refused or not; null before the first. */
  #version: string | null = null;
  #lastFailure = '';
  #timer: NodeJS.Timeout | null = null;
  #watcher: FSWatcher | null = null;
  #isReading = false;
  /** Changes seen by the watcher so far. */
  #changes = 0;
  #isHurried = false;
  #disturbedReads = 0;
  #isClosed = false;
  #rejected = 0;

  constructor(options: ConfigDirectoryOptions) {
    this.#options = options;
    this.#periodMs = Math.min(Math.max(options.periodMs, MIN_PERIOD_MS), MAX_TIMER_MS);
  }

  /** Reads once and delivers what is there, then follows. Never rejects: a failure is logged. */
  async start(): Promise<void> {
    await this.#poll();
  }

  /** How many versions could not be read or were refused. */
  get rejected(): number {
    return this.#rejected;
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
    this.#isHurried = false;
    const changesBefore = this.#changes;
    // Watching begins before the read: a change in between must not be missed.
    this.#watch();
    try {
      this.#deliver(await readConfigDirectory(this.#options.path));
      this.#disturbedReads = 0;
    } catch (error) {
      if (error instanceof ConfigChangingError) this.#disturbedReads++;
      else this.#disturbedReads = 0;
      if (!this.#isDisturbed()) {
        this.#unwatch();
        this.#noteFailure(errorText(error));
      }
    }
    this.#isReading = false;
    const isCalm = this.#changes === changesBefore && !this.#isDisturbed();
    this.#schedule(isCalm ? this.#periodMs : SETTLE_MS);
  }

  /** The last read met changes, and it is not worth a word yet. */
  #isDisturbed(): boolean {
    return this.#disturbedReads > 0 && this.#disturbedReads < MAX_DISTURBED_READS;
  }

  #deliver(files: ConfigFiles): void {
    if (this.#isClosed) return;
    if (this.#lastFailure !== '') {
      this.#options.log.info(`config: ${this.#options.path} is readable again`);
      this.#lastFailure = '';
    }
    if (files.version === this.#version) return;
    this.#version = files.version;
    try {
      this.#options.onChange(files);
    } catch (error) {
      this.#rejected++;
      logRefusedConfig(this.#options.log, error);
    }
  }

  /** The same failure comes back every period; it is said once. */
  #noteFailure(message: string): void {
    if (this.#isClosed || message === this.#lastFailure) return;
    this.#lastFailure = message;
    this.#rejected++;
    logRefusedConfig(this.#options.log, message);
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
      /* no such directory, or no watching on this file system: polling goes on */
    }
  }

  #unwatch(): void {
    this.#watcher?.close();
    this.#watcher = null;
  }

  /** The first of several events sets the time of the read: a stream of them must not put it off. */
  #noteChange(): void {
    this.#changes++;
    if (this.#isReading || this.#isHurried) return;
    this.#isHurried = true;
    this.#schedule(SETTLE_MS);
  }
}
