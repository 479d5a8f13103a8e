import type { V1ConfigMap } from '@kubernetes/client-node';
import {
  ConfigDirectory,
  type ConfigStatus,
  configVersion,
  type DnsConfig,
  EMPTY_DNS_CONFIG,
  type Log,
  logRefusedConfig,
  logUnknownKeys,
  NO_UNKNOWN_KEYS,
  parseDnsConfig,
  type RefusedConfig,
  StartupError,
} from '@kube-dns/daemon';
import type { ApiReader } from '../watch/api-client.js';
import { ListWatch } from '../watch/list-watch.js';
import type { Projection } from '../watch/store.js';
import { Task, type WatchPace } from '../watch/pace.js';
import type { KubednsFlags } from './flags.js';

export interface ConfigurationOptions {
  readonly flags: KubednsFlags;
  readonly client: ApiReader;
  readonly log: Log;
  /** Applies a valid configuration as a whole, perhaps after some turns of the event loop. */
  readonly apply: (config: DnsConfig) => Promise<void> | void;
}

/** Where the configuration comes from. */
export type ConfigSource = 'flags' | 'directory' | 'configmap';

/** A ConfigMap or a directory. */
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
  /** The active version: a hash of its content; '' for an empty content and for the flags. */
  version = '';
  /** How many configurations were applied. */
  generation = 0;
  /** When the active configuration was applied, in ms since the epoch; 0 before the first. */
  appliedMs = 0;
  /** Of the active configuration. */
  unknownKeys = NO_UNKNOWN_KEYS;
  readonly #options: ConfigurationOptions;
  readonly #source: Source | undefined;
  /** The source as people name it. */
  readonly #sourceName: string = '';
  #files: ReadonlyMap<string, string> = new Map();

  /** Throws a StartupError when the flags name two sources. */
  constructor(options: ConfigurationOptions) {
    this.#options = options;
    const { flags, client, log } = options;
    const { 'config-map': name, 'config-map-namespace': namespace, 'config-dir': path } = flags;
    if (name !== '' && path !== '') {
      throw new StartupError('--config-map and --config-dir cannot both be used', EXIT_FATAL);
    }
    const onChange = async (content: ConfigMapContent) => {
      await this.#apply(parseDnsConfig(content.files), content.version);
      this.#files = content.files;
      this.unknownKeys = logUnknownKeys(log, content.files);
    };
    if (name !== '') {
      this.source = 'configmap';
      this.#sourceName = `ConfigMap ${namespace}/${name}`;
      this.#source = new ConfigMapSource({ client, namespace, name, log, onChange });
    } else if (path !== '') {
      this.source = 'directory';
      this.#sourceName = path;
      const periodMs = flags['config-period'];
      this.#source = new ConfigDirectory({ path, periodMs, log, onChange });
    } else {
      this.source = 'flags';
    }
  }

  /** Whether one is active. */
  get isActive(): boolean {
    return this.generation > 0;
  }

  /** How many versions could not be read or were refused. */
  get rejected(): number {
    return this.#source?.rejected ?? 0;
  }

  /** What the status page says of it; undefined where it is from the flags. */
  get status(): ConfigStatus | undefined {
    if (this.#source === undefined) return undefined;
    const from = this.#sourceName;
    return {
      source: from,
      version: this.version,
      appliedMs: this.appliedMs,
      refused: this.#source.refused,
      warnings: this.unknownKeys.warnings,
      settings: Array.from(this.#files, ([setting, value]) => ({ setting, value, from })),
    };
  }

  /** Resolves when a configuration is active: that of the source, or else the defaults. */
  async start(): Promise<void> {
    const { flags, log } = this.#options;
    const isUsed = {
      federations: flags.federations.size > 0,
      nameservers: flags.nameservers.length > 0,
    };
    if (isUsed.federations) log.warn('--federations is deprecated: use the key of the ConfigMap');
    if (this.#source === undefined) {
      const { federations, nameservers } = flags;
      await this.#apply({ ...EMPTY_DNS_CONFIG, federations, upstreamNameservers: nameservers }, '');
      return;
    }
    for (const [flag, isSet] of Object.entries(isUsed)) {
      if (isSet) log.warn(`--${flag} is not used: the configuration comes from the ${this.source}`);
    }
    await this.#source.start();
    if (this.appliedMs === 0) await this.#apply(EMPTY_DNS_CONFIG, '');
  }

  /** Stops following the source; may be called twice. */
  async close(): Promise<void> {
    await this.#source?.close();
  }

  async #apply(config: DnsConfig, version: string): Promise<void> {
    await this.#options.apply(config);
    this.version = version;
    this.generation++;
    this.appliedMs = Date.now();
    const { log } = this.#options;
    if (this.#source !== undefined) {
      log.verbose(2, `config: applied version ${version.slice(0, 12) || '(empty)'}`);
    }
  }
}

/** The keys of a configuration with their texts, and the version of this content. */
interface ConfigMapContent {
  readonly version: string;
  readonly files: ReadonlyMap<string, string>;
}

export interface ConfigMapSourceOptions {
  readonly client: ApiReader;
  readonly namespace: string;
  readonly name: string;
  readonly log: Log;
  /** Applies a new version; throws or rejects to refuse it. Gets no keys and version '' when the object does not exist. */
  readonly onChange: (content: ConfigMapContent) => Promise<void> | void;
  /** How long the start waits for the API server. */
  readonly startLimitMs?: number;
  readonly random?: () => number;
  readonly pace?: Partial<WatchPace>;
}

const START_LIMIT_MS = 5_000;
const NO_CONTENT: ConfigMapContent = { version: '', files: new Map() };

/**
 * Follows the named ConfigMap (the original applied every ConfigMap of its namespace). Each new content is
 * delivered once; the deletion is delivered as no content. Content that `onChange` refuses is logged, and
 * the last good content stays active.
 */
export class ConfigMapSource {
  readonly #options: ConfigMapSourceOptions;
  readonly #watch: ListWatch<V1ConfigMap, Projection>;
  /** The start, until its wait is over. */
  readonly #start = new Task();
  /** The version last delivered, refused or not. */
  #version: string | undefined;
  /** What is to be applied next; only the latest counts. */
  #next: ConfigMapContent | undefined;
  #applying: Promise<void> | undefined;
  /** How many versions were refused. */
  rejected = 0;
  /** Why the version that is there now is not active; undefined when it is. */
  refused: RefusedConfig | undefined;

  constructor(options: ConfigMapSourceOptions) {
    const { client, namespace, name, log, random, pace } = options;
    this.#options = options;
    const ownKey = `${namespace}/${name}`;
    this.#watch = new ListWatch<V1ConfigMap, Projection>({
      client: {
        get: (request) => {
          request.query.set('fieldSelector', `metadata.name=${name}`);
          return client.get(request);
        },
      },
      path: `/api/v1/namespaces/${namespace}/configmaps`,
      log,
      sink: {
        // A server that ignores the selector must not configure us with other objects.
        project: (key, object) => {
          if (key === ownKey) this.#deliver(contentOf(object));
          // No field of the object needs storing: its content has been delivered.
          return { version: '', listNumber: 0 };
        },
        change: (key, _before, after) => {
          if (key === ownKey && after === undefined) this.#deliver(NO_CONTENT);
        },
      },
      onSynced: () => {
        if (this.#version === undefined) {
          log.info(`config: there is no ConfigMap ${namespace}/${name}`);
          this.#deliver(NO_CONTENT);
        }
        this.#start.abort();
      },
      onDenied: () => this.#start.abort(),
      random,
      pace,
    });
  }

  /**
   * Resolves when the ConfigMap was read, when reading it is forbidden, or after `startLimitMs` without an
   * answer of the API server; the ConfigMap is followed in any case. Never rejects.
   */
  async start(): Promise<void> {
    const { name, namespace, log, startLimitMs = START_LIMIT_MS } = this.#options;
    this.#watch.start();
    await this.#start.pause(startLimitMs);
    await this.#applying;
    if (this.#version !== undefined) return;
    log.warn(
      `config: the ConfigMap ${namespace}/${name} could not be read yet; using the defaults`,
    );
  }

  /** Stops following; may be called twice. */
  async close(): Promise<void> {
    this.#start.abort();
    await this.#watch.close();
  }

  #deliver(content: ConfigMapContent): void {
    if (content.version === this.#version) return;
    this.#version = content.version;
    this.#next = content;
    this.#applying ??= this.#applyAll();
  }

  async #applyAll(): Promise<void> {
    for (let content = this.#next; content !== undefined; content = this.#next) {
      this.#next = undefined;
      try {
        // What it throws is a rejection, too: the loop must not end before its promise is assigned.
        await Promise.resolve(content).then(this.#options.onChange);
        this.refused = undefined;
      } catch (error) {
        this.rejected++;
        this.refused = logRefusedConfig(this.#options.log, error);
      }
    }
    this.#applying = undefined;
  }
}

/** The keys, sorted by name as in a directory. */
function contentOf({ data }: V1ConfigMap): ConfigMapContent {
  const entries: [string, unknown][] = Object.entries(data ?? {});
  const files = new Map<string, string>();
  for (const [key, text] of entries.sort(([left], [right]) => (left < right ? -1 : 1))) {
    if (typeof text === 'string') files.set(key, text);
  }
  return { version: configVersion(files), files };
}
