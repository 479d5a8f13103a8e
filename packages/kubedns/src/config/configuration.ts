import {
  ConfigDirectory,
  type ConfigStatus,
  type DnsConfig,
  EMPTY_DNS_CONFIG,
  type Log,
  parseDnsConfig,
  type RefusedConfig,
  StartupError,
} from '@kube-dns/daemon';
import type { ApiClient } from '../watch/api-client.js';
import { ConfigMapSource } from './config-map.js';
import type { KubednsFlags } from './flags.js';

export interface ConfigurationOptions {
  readonly flags: KubednsFlags;
  readonly client: ApiClient;
  readonly log: Log;
  /** Applies a valid configuration as a whole. */
  readonly apply: (config: DnsConfig) => void;
}

/** Where the configuration comes from. */
export type ConfigSource = 'flags' | 'directory' | 'configmap';

/** The part of a source that this module uses. */
interface Source {
  readonly rejected: number;
  readonly refused: RefusedConfig | undefined;
  start(): Promise<void>;
  close(): Promise<void> | void;
}

const EXIT_FATAL = 255;

/**
 * The configuration and its source, one of three: a ConfigMap, a directory, or the flags themselves.
 * After kubernetes/dns cmd/kube-dns/app/server.go, NewKubeDNSServerDefault.
 */
export class Configuration {
  readonly source: ConfigSource;
  readonly #options: ConfigurationOptions;
  readonly #source: Source | undefined;
  /** The source as people name it. */
  readonly #place: string = '';
  #files: ReadonlyMap<string, string> = new Map();
  #version = '';
  #generation = 0;
  #appliedMs = 0;

  /** Throws a StartupError when the flags name two sources. */
  constructor(options: ConfigurationOptions) {
    this.#options = options;
    const { flags, client, log } = options;
    const { 'config-map': name, 'config-map-namespace': namespace, 'config-dir': path } = flags;
    if (name !== '' && path !== '') {
      throw new StartupError('--config-map and --config-dir cannot both be used', EXIT_FATAL);
    }
    const onChange = (content: { version: string; files: ReadonlyMap<string, string> }) => {
      this.#apply(parseDnsConfig(content.files), content.version);
      this.#files = content.files;
    };
    if (name !== '') {
      this.source = 'configmap';
      this.#place = `ConfigMap ${namespace}/${name}`;
      this.#source = new ConfigMapSource({ client, namespace, name, log, onChange });
    } else if (path !== '') {
      this.source = 'directory';
      this.#place = path;
      const periodMs = flags['config-period'];
      this.#source = new ConfigDirectory({ path, periodMs, log, onChange });
    } else {
      this.source = 'flags';
    }
  }

  /** How many versions could not be read or were refused. */
  get rejected(): number {
    return this.#source?.rejected ?? 0;
  }

  /** The active version: a hash of its content; '' for an empty content and for the flags. */
  get version(): string {
    return this.#version;
  }

  /** How many configurations were applied. */
  get generation(): number {
    return this.#generation;
  }

  /** When the active configuration was applied, in ms since the epoch; 0 before the first. */
  get appliedMs(): number {
    return this.#appliedMs;
  }

  /** What the status page says of it; undefined where it is from the flags. */
  get status(): ConfigStatus | undefined {
    if (this.#source === undefined) return undefined;
    const from = this.#place;
    return {
      source: from,
      version: this.#version,
      appliedMs: this.#appliedMs,
      refused: this.#source.refused,
      settings: Array.from(this.#files, ([setting, value]) => ({ setting, value, from })),
    };
  }

  /** Resolves when a configuration is active: that of the source, or else the defaults. */
  async start(): Promise<void> {
    const { flags, log } = this.#options;
    const isGiven = {
      federations: flags.federations.size > 0,
      nameservers: flags.nameservers.length > 0,
    };
    if (isGiven.federations) log.warn('--federations is deprecated: use the key of the ConfigMap');
    if (this.#source === undefined) {
      const { federations, nameservers } = flags;
      this.#apply({ ...EMPTY_DNS_CONFIG, federations, upstreamNameservers: nameservers }, '');
      return;
    }
    for (const [flag, given] of Object.entries(isGiven)) {
      if (given) log.warn(`--${flag} is not used: the configuration comes from the ${this.source}`);
    }
    await this.#source.start();
    if (this.#appliedMs === 0) this.#apply(EMPTY_DNS_CONFIG, '');
  }

  /** Stops following the source; may be called twice. */
  async close(): Promise<void> {
    await this.#source?.close();
  }

  #apply(config: DnsConfig, version: string): void {
    this.#options.apply(config);
    this.#version = version;
    this.#generation++;
    this.#appliedMs = Date.now();
    const { log } = this.#options;
    if (this.#source !== undefined) {
      log.verbose(2, `config: applied version ${version.slice(0, 12) || '(empty)'}`);
    }
  }
}
