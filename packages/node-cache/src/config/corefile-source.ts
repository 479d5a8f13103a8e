import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import {
  ConfigDirectory,
  type DnsConfig,
  EMPTY_DNS_CONFIG,
  errorText,
  type Log,
  parseDnsConfig,
  StartupError,
} from '@kube-dns/daemon';
import { systemReason } from '@kube-dns/wire';
import { CorefileError } from '../corefile/corefile-error.js';
import { type CorefileSurroundings, readServerBlocks } from '../corefile/read-server-blocks.js';
import type { ServerBlock } from '../corefile/server-block.js';
import { readTextFile } from '../corefile/text-file.js';
import { checkServers } from '../template/check-servers.js';
import { CLUSTER_DNS, type RenderedCorefile, renderTemplate } from '../template/render-template.js';
import { type LookupService, serviceVariable } from '../template/service-address.js';
import { CorefileFile } from './corefile-file.js';
import type { CorefileOptions } from './options.js';

export interface CorefileSourceOptions {
  readonly corefile: CorefileOptions;
  readonly log: Log;
  readonly lookup: LookupService;
  /** Applies blocks; throws or rejects to refuse them, and gets them again a period later. */
  readonly onChange: (blocks: readonly ServerBlock[], text: string) => Promise<void> | void;
  readonly surroundings?: CorefileSurroundings;
  /** How often the folders are read without a notice of a change; 10 s, as in the original, by default. */
  readonly periodMs?: number;
  /** The folder of the ConfigMap kube-dns where none is named. */
  readonly defaultFolder?: string;
}

/** Errors since the start, by kind. */
export interface CorefileErrors {
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
  #config: DnsConfig = EMPTY_DNS_CONFIG;
  #address: string | undefined;
  #applied: { readonly blocks: readonly ServerBlock[]; readonly text: string } | undefined;
  #lastRefused: readonly string[] = [];
  #lastFailure = '';
  #configmapErrors = 0;
  #refused = 0;
  /** Whether there is something to try again. */
  #isOpen = false;
  #isStarted = false;
  #isApplying = false;
  #isWanted = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: CorefileSourceOptions) {
    this.#options = options;
    this.#periodMs = options.periodMs ?? PERIOD_MS;
    this.#file = new CorefileFile(options.corefile.file, options.log);
  }

  /** Reads and applies the first Corefile, then follows. Rejects with a StartupError when it is refused. */
  async start(): Promise<void> {
    const { corefile, log, defaultFolder = DEFAULT_FOLDER } = this.#options;
    log.info(`Using Corefile ${corefile.file}`);
    const hasDefault = corefile.kubeDnsFolder === '' && existsSync(defaultFolder);
    const folder = hasDefault ? defaultFolder : corefile.kubeDnsFolder;
    if (folder === '') {
      log.info('Skipping kube-dns configmap sync as no directory was specified');
    } else this.#follow(folder, (files) => this.#takeConfig(files, folder));
    this.#follow(dirname(corefile.templateFile), () => undefined);
    for (const directory of this.#directories) await directory.start();
    this.#findAddress();
    if (this.#address === undefined) this.#warnOfAddress();
    this.#isWanted = false;
    await this.#update();
    if (this.#applied === undefined) {
      throw new StartupError(this.#lastRefused.join('; ') || this.#lastFailure, EXIT_FATAL);
    }
    this.#isStarted = true;
    this.#timer = setInterval(() => {
      if (this.#isOpen) this.refresh();
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
    return { configmap: this.#configmapErrors + unread, refused: this.#refused };
  }

  /** Why the last Corefile is not obeyed; empty when it is. */
  get lastRefused(): readonly string[] {
    return this.#lastRefused;
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

  #takeConfig(files: ReadonlyMap<string, string>, folder: string): void {
    const { log } = this.#options;
    let config;
    try {
      config = parseDnsConfig(files);
    } catch (error) {
      this.#configmapErrors++;
      const reason = errorText(error);
      log.error(`Failed to sync kube-dns config directory ${folder}, err: ${reason}`);
      return;
    }
    try {
      checkServers(config);
      this.#config = config;
    } catch (error) {
      this.#configmapErrors++;
      log.error(`Invalid config: ${errorText(error)}`);
    }
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
    this.#isOpen = false;
    this.#findAddress();
    const rendered = this.#render();
    const text = rendered?.text ?? this.#ownCorefile();
    if (text === undefined) return;
    const blocks = this.#read(text);
    if (blocks === undefined) return;
    if (rendered !== undefined) this.#fail(this.#file.write(rendered, this.#config));
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
      template = readTextFile(templateFile) ?? '';
    } catch (error) {
      this.#fail(`Failed to read node-cache coreFile ${templateFile} - ${systemReason(error)}`);
      return undefined;
    }
    if (this.#address === undefined && template.includes(CLUSTER_DNS)) this.#isOpen = true;
    return renderTemplate(template, this.#config, { ...corefile, clusterDns: this.#address });
  }

  /** Before there was a template, the file that is there. */
  #ownCorefile(): string | undefined {
    return this.#applied === undefined ? this.#file.read() : undefined;
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
      await this.#options.onChange(blocks, text);
    } catch (error) {
      this.#isOpen = true;
      this.#refuse([errorText(error)]);
      return;
    }
    this.#applied = { blocks, text };
    this.#lastRefused = [];
    const hash = createHash('sha512').update(text).digest('hex');
    this.#options.log.info(`plugin/reload: Running configuration SHA512 = ${hash}`);
  }

  /** The same reasons come again with each change of a folder; they are said once. */
  #refuse(reasons: readonly string[]): void {
    if (isDeepStrictEqual(reasons, this.#lastRefused)) return;
    this.#lastRefused = reasons;
    if (this.#applied === undefined) return; // the start ends with them
    this.#refused++;
    const { log } = this.#options;
    for (const reason of reasons.slice(0, MAX_LOGGED_MISTAKES)) {
      log.error(`plugin/reload: Corefile changed but reload failed: ${reason}`);
    }
    const others = reasons.length - MAX_LOGGED_MISTAKES;
    if (others > 0) log.error(`plugin/reload: ${others} more mistakes`);
  }

  /** What failed, or '': counted and logged once, and tried again. */
  #fail(message: string): void {
    if (message !== '') this.#isOpen = true;
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

  #warnOfAddress(): void {
    const { corefile, log } = this.#options;
    const service = corefile.upstreamService;
    log.warn(
      `Unable to lookup IP address of Upstream service ${service}, env $${serviceVariable(service)}`,
    );
  }
}
