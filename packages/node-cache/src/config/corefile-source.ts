import { createHash } from 'node:crypto';
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { errorText, systemReason } from '@kube-dns/base';
import {
  ConfigDirectory,
  ConfigError,
  type DnsConfig,
  EMPTY_DNS_CONFIG,
  type Log,
  moreMistakes,
  logUnknownKeys,
  NO_UNKNOWN_KEYS,
  parseDnsConfig,
  readTextFile,
  type RefusedConfig,
  StartupError,
} from '@kube-dns/daemon';
import { CorefileError } from '../corefile/corefile.js';
import { type CorefileSurroundings, readServerBlocks } from '../corefile/read-server-blocks.js';
import type { ServerBlock } from '../corefile/server-block.js';
import { type LookupService, serviceVariable } from './cluster-service.js';
import type { CorefileOptions } from './options.js';
import { checkServers, CLUSTER_DNS, type RenderedCorefile, renderTemplate } from './template.js';

export interface CorefileSourceOptions {
  readonly corefile: CorefileOptions;
  readonly log: Log;
  readonly lookup: LookupService;
  readonly surroundings?: CorefileSurroundings;
  /** How often the folders are read without a notice of a change; 10 s, as in the original, by default. */
  readonly periodMs?: number;
  /** The folder of the ConfigMap kube-dns where none is named. */
  readonly defaultFolder?: string;
}

export interface CorefileEvents {
  /** Applies blocks; throws or rejects to refuse them, and gets them again a period later. */
  readonly onChange: (blocks: readonly ServerBlock[]) => Promise<void> | void;
  /** Called with each ConfigMap that is obeyed. */
  readonly onConfig?: (config: DnsConfig) => void;
}

/** The Corefile that is obeyed. */
export interface AppliedCorefile {
  readonly blocks: readonly ServerBlock[];
  readonly text: string;
  /** In ms since the epoch. */
  readonly atMs: number;
  /** SHA512 of the text, in hex, as CoreDNS logs it. */
  readonly version: string;
}

/** Errors since the start, by kind. */
interface CorefileErrors {
  /** ConfigMaps and templates that could not be read, and files that could not be written. */
  readonly configmap: number;
  /** Corefiles that were refused. */
  readonly refused: number;
}

const PERIOD_MS = 10_000;
/** kubernetes/dns cmd/node-cache/app/configmap.go, DefaultKubednsCMPath. */
const DEFAULT_FOLDER = '/etc/kube-dns';
const EXIT_FATAL = 1;
const MAX_LOGGED_MISTAKES = 20;

/**
 * The Corefile of the template and the ConfigMap kube-dns, followed at run time. Each new one is read, written to its
 * file and applied; one that is refused is logged and counted, and the last good one stays. What could not be read,
 * written or applied, and an address of the cluster's DNS that is not known yet, is tried again every period.
 */
export class CorefileSource {
  readonly #options: CorefileSourceOptions;
  readonly #periodMs: number;
  readonly #file: CorefileFile;
  readonly #directories: ConfigDirectory[] = [];
  readonly #config: KubeDnsConfig;
  #events!: CorefileEvents;
  #address: string | undefined;
  #applied: AppliedCorefile | undefined;
  #lastRefused: readonly string[] = [];
  #refusedMs = 0;
  #lastFailure = '';
  #configmapErrors = 0;
  #refused = 0;
  #mustRetry = false;
  #isStarted = false;
  #isApplying = false;
  #isWanted = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: CorefileSourceOptions) {
    this.#options = options;
    this.#periodMs = options.periodMs ?? PERIOD_MS;
    this.#config = new KubeDnsConfig(options.log);
    this.#file = new CorefileFile(options.corefile.file, options.log);
  }

  /** Reads and applies the first Corefile, then follows. Rejects with a StartupError when it is refused. */
  async start(events: CorefileEvents): Promise<void> {
    this.#events = events;
    const { corefile, log, defaultFolder = DEFAULT_FOLDER } = this.#options;
    log.info(`Using Corefile ${corefile.file}`);
    const hasDefault = corefile.kubeDnsFolder === '' && existsSync(defaultFolder);
    const folder = hasDefault ? defaultFolder : corefile.kubeDnsFolder;
    if (folder === '') {
      log.info('Skipping kube-dns configmap sync as no directory was specified');
    } else {
      this.#follow(folder, (files) => {
        if (this.#config.take(files, folder)) events.onConfig?.(this.#config.current);
      });
    }
    this.#follow(dirname(corefile.templateFile), () => undefined);
    for (const directory of this.#directories) await directory.start();
    this.#findAddress();
    if (this.#address === undefined) {
      const { upstreamService: service } = corefile;
      log.warn(
        `Unable to lookup IP address of Upstream service ${service}, env $${serviceVariable(service)}`,
      );
    }
    this.#isWanted = false;
    await this.#update();
    if (this.#applied === undefined) {
      throw new StartupError(this.#lastRefused.join('; ') || this.#lastFailure, EXIT_FATAL);
    }
    this.#isStarted = true;
    this.#timer = setInterval(() => {
      if (this.#mustRetry) this.refresh();
    }, this.#periodMs);
    this.#timer.unref();
    // A change may have come while the first Corefile was applied.
    void this.#updateWhileWanted();
  }

  /** Reads everything again, and looks the address of the cluster's DNS up. */
  refresh(): void {
    this.#isWanted = true;
    if (this.#isStarted && !this.#isApplying) void this.#updateWhileWanted();
  }

  get errors(): CorefileErrors {
    const unread = this.#directories.reduce((sum, { rejected }) => sum + rejected, 0);
    return {
      configmap: this.#configmapErrors + this.#config.errors + unread,
      refused: this.#refused,
    };
  }

  /** Why the last Corefile is not obeyed; empty when it is. */
  get lastRefused(): readonly string[] {
    return this.#lastRefused;
  }

  /** Undefined before the first. */
  get applied(): AppliedCorefile | undefined {
    return this.#applied;
  }

  /** The last Corefile and the last ConfigMap that are not obeyed; undefined when the last ones are. */
  get refused(): RefusedConfig | undefined {
    const corefile = { atMs: this.#refusedMs, reasons: this.#lastRefused };
    const unread = this.#directories.map(({ refused }) => refused);
    const refused = [corefile, this.#config.refused, ...unread].filter(
      (one) => one !== undefined && one.reasons.length > 0,
    ) as RefusedConfig[];
    if (refused.length === 0) return undefined;
    const atMs = Math.max(...refused.map((one) => one.atMs));
    return { atMs, reasons: refused.flatMap(({ reasons }) => reasons) };
  }

  /** Keys of the ConfigMap without effect, a sentence each. */
  get warnings(): readonly string[] {
    return this.#config.unknownKeys.warnings;
  }

  /** Stops following; may be called twice. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const directory of this.#directories) directory.close();
  }

  #follow(path: string, take: (files: ReadonlyMap<string, string>) => void): void {
    const onChange = ({ files }: { readonly files: ReadonlyMap<string, string> }) => {
      take(files);
      this.refresh();
    };
    const { log } = this.#options;
    this.#directories.push(new ConfigDirectory({ path, periodMs: this.#periodMs, log, onChange }));
  }

  async #updateWhileWanted(): Promise<void> {
    this.#isApplying = true;
    try {
      while (this.#isWanted && !this.#isClosed) {
        this.#isWanted = false;
        await this.#update();
      }
    } finally {
      this.#isApplying = false;
    }
  }

  async #update(): Promise<void> {
    this.#mustRetry = false;
    this.#findAddress();
    const rendered = this.#render();
    // Before there was a template, the file that is there.
    const text = rendered?.text ?? (this.#applied === undefined ? this.#file.read() : undefined);
    if (text === undefined) return;
    const blocks = this.#read(text);
    if (blocks === undefined) return;
    if (rendered !== undefined) this.#fail(this.#file.write(rendered, this.#config.current));
    const isSame = this.#applied?.text === text && isDeepStrictEqual(blocks, this.#applied.blocks);
    if (!isSame) await this.#apply(blocks, text);
    else this.#lastRefused = [];
  }

  /** The Corefile of the template; undefined while that cannot be read. */
  #render(): RenderedCorefile | undefined {
    const { corefile } = this.#options;
    const { templateFile } = corefile;
    let template;
    try {
      template = readTextFile(templateFile);
    } catch (error) {
      this.#fail(`Failed to read node-cache coreFile ${templateFile} - ${systemReason(error)}`);
      return undefined;
    }
    if (this.#address === undefined && template.includes(CLUSTER_DNS)) this.#mustRetry = true;
    return renderTemplate(template, this.#config.current, {
      ...corefile,
      clusterDns: this.#address,
    });
  }

  #read(text: string): readonly ServerBlock[] | undefined {
    const { corefile, surroundings } = this.#options;
    try {
      return readServerBlocks(text, corefile.file, { port: corefile.port, ...surroundings });
    } catch (error) {
      if (!(error instanceof CorefileError)) throw error;
      this.#refuse(error.mistakes);
      return undefined;
    }
  }

  async #apply(blocks: readonly ServerBlock[], text: string): Promise<void> {
    try {
      await this.#events.onChange(blocks);
    } catch (error) {
      this.#mustRetry = true;
      this.#refuse([errorText(error)]);
      return;
    }
    const version = createHash('sha512').update(text).digest('hex');
    this.#applied = { blocks, text, atMs: Date.now(), version };
    for (const ignored of blocks.flatMap((block) => block.ignored).slice(0, MAX_IGNORED)) {
      this.#options.log.warn(`${this.#options.corefile.file}: ${ignored}`);
    }
    this.#lastRefused = [];
    this.#options.log.info(`plugin/reload: Running configuration SHA512 = ${version}`);
  }

  /** The same reasons come again with each change of a folder; they are said once. */
  #refuse(reasons: readonly string[]): void {
    if (isDeepStrictEqual(reasons, this.#lastRefused)) return;
    this.#lastRefused = reasons;
    this.#refusedMs = Date.now();
    if (this.#applied === undefined) return; // the start ends with them
    this.#refused++;
    const { log } = this.#options;
    for (const reason of reasons.slice(0, MAX_LOGGED_MISTAKES)) {
      log.error(`plugin/reload: Corefile changed but reload failed: ${reason}`);
    }
    const others = reasons.length - MAX_LOGGED_MISTAKES;
    if (others > 0) log.error(`plugin/reload: ${moreMistakes(others)}`);
  }

  /** What failed, or '': counted and logged once, and tried again. */
  #fail(message: string): void {
    if (message !== '') this.#mustRetry = true;
    if (message === this.#lastFailure) return;
    this.#lastFailure = message;
    if (message === '') return;
    this.#configmapErrors++;
    this.#options.log.error(message);
  }

  #findAddress(): void {
    const { corefile, lookup, log } = this.#options;
    const service = corefile.upstreamService;
    const found = lookup(service);
    if (found === undefined || found === this.#address) return;
    if (this.#isStarted) log.info(`Upstream service ${service} has the address ${found}`);
    this.#address = found;
  }
}

/** The ConfigMap kube-dns as it is read from a folder; one that is refused is logged, and the last good one stays. */
class KubeDnsConfig {
  current: DnsConfig = EMPTY_DNS_CONFIG;
  /** ConfigMaps that were refused since the start. */
  errors = 0;
  /** The last one, if it is refused. */
  refused: RefusedConfig | undefined;
  /** Of the current one. */
  unknownKeys = NO_UNKNOWN_KEYS;
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Whether the files are a ConfigMap that is obeyed. */
  take(files: ReadonlyMap<string, string>, folder: string): boolean {
    let config;
    try {
      config = parseDnsConfig(files);
    } catch (error) {
      const head = `Failed to sync kube-dns config directory ${folder}, err: `;
      return this.#refuse(head, error, folder);
    }
    try {
      checkServers(config);
    } catch (error) {
      return this.#refuse('Invalid config: ', error, folder);
    }
    this.current = config;
    this.refused = undefined;
    this.unknownKeys = logUnknownKeys(this.#log, files);
    return true;
  }

  #refuse(head: string, error: unknown, folder: string): false {
    this.errors++;
    this.#log.error(`${head}${errorText(error)}`);
    const mistakes = error instanceof ConfigError ? error.mistakes : [errorText(error)];
    const reasons = mistakes.map((mistake) => `${folder}: ${mistake}`);
    this.refused = { atMs: Date.now(), reasons };
    return false;
  }
}

/** More directives that change nothing are not logged. */
const MAX_IGNORED = 20;
const MAX_LOGGED_LINES = 500;

/** The file that the Corefile is written to, for people; the log has it, too. */
class CorefileFile {
  readonly #path: string;
  readonly #log: Log;
  #text: string | undefined;

  constructor(path: string, log: Log) {
    this.#path = path;
    this.#log = log;
  }

  /** What is in it already: without a template that is the Corefile, as CoreDNS takes it. */
  read(): string | undefined {
    try {
      return readTextFile(this.#path);
    } catch {
      return undefined; // nor is there one: the failure of the template is what to say
    }
  }

  /** Writes a new text and logs it, in the original's words. Returns why it could not be written, or nothing. */
  write({ text, upstreams, mayForceTcp }: RenderedCorefile, { stubDomains }: DnsConfig): string {
    if (text === this.#text) return '';
    try {
      writeAtomically(this.#path, text);
    } catch (error) {
      return `Failed to write config file ${this.#path} - err ${systemReason(error)}`;
    }
    this.#text = text;
    const log = this.#log;
    if (mayForceTcp) {
      log.warn('Did not find TCP upstream block to replace, assuming upstreams already use UDP.');
    }
    const count = `${stubDomains.size} custom stubdomains`;
    log.info(`Updated Corefile with ${count} and upstream servers ${upstreams}`);
    const lines = text.trimEnd().split('\n');
    log.info('Using config file:');
    for (const line of lines.slice(0, MAX_LOGGED_LINES)) log.info(line);
    const others = lines.length - MAX_LOGGED_LINES;
    if (others > 0) log.info(`${others} more lines are in ${this.#path}`);
    return '';
  }
}

/**
 * Writes a file so that a reader sees the old or the new text, never a part. One that cannot be replaced, because it
 * is mounted by itself or its folder is read-only, is written in place. Throws the error of the file system.
 */
function writeAtomically(path: string, text: string): void {
  const draft = `${path}.new`;
  try {
    writeFileSync(draft, text);
    renameSync(draft, path);
  } catch {
    rmSync(draft, { force: true });
    writeFileSync(path, text);
  }
}
