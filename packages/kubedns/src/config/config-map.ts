import type { V1ConfigMap } from '@kubernetes/client-node';
import { configVersion, type Log, logRefusedConfig, type RefusedConfig } from '@kube-dns/daemon';
import type { ApiReader } from '../watch/api-client.js';
import { ListWatch } from '../watch/list-watch.js';
import type { Projection } from '../watch/store.js';
import type { WatchPace } from '../watch/pace.js';

/** The keys of a configuration with their texts, and the version of this content. */
export interface ConfigMapContent {
  readonly version: string;
  readonly files: ReadonlyMap<string, string>;
}

export interface ConfigMapSourceOptions {
  readonly client: ApiReader;
  readonly namespace: string;
  readonly name: string;
  readonly log: Log;
  /** Applies a new version; throws to refuse it. Gets no keys and version '' when the object does not exist. */
  readonly onChange: (content: ConfigMapContent) => void;
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
  readonly #watch: Pick<ListWatch<V1ConfigMap, Projection>, 'start' | 'close'>;
  /** The version last delivered, refused or not. */
  #version: string | undefined;
  #rejected = 0;
  /** Why the version that is there now is not active; undefined when it is. */
  refused: RefusedConfig | undefined;
  /** Ends the wait of the start. */
  #settle: () => void = () => undefined;
  #startTimer: NodeJS.Timeout | undefined;

  constructor(options: ConfigMapSourceOptions) {
    this.#options = options;
    this.#watch = watchConfigMap(options, {
      take: (object) => this.#deliver(contentOf(object)),
      drop: () => this.#deliver(NO_CONTENT),
      onSynced: () => this.#onSynced(),
      onDenied: () => this.#settle(),
    });
  }

  /**
   * Resolves when the ConfigMap was read, when reading it is forbidden, or after `startLimitMs` without an
   * answer of the API server; the ConfigMap is followed in any case. Never rejects.
   */
  async start(): Promise<void> {
    const { name, namespace, log, startLimitMs = START_LIMIT_MS } = this.#options;
    await new Promise<void>((resolve) => {
      this.#settle = resolve;
      this.#startTimer = setTimeout(resolve, startLimitMs);
      this.#watch.start();
    });
    clearTimeout(this.#startTimer);
    if (this.#version !== undefined) return;
    log.warn(
      `config: the ConfigMap ${namespace}/${name} could not be read yet; using the defaults`,
    );
  }

  /** How many versions were refused. */
  get rejected(): number {
    return this.#rejected;
  }

  /** Stops following; may be called twice. */
  async close(): Promise<void> {
    this.#settle();
    await this.#watch.close();
  }

  #onSynced(): void {
    if (this.#version === undefined) {
      const { name, namespace, log } = this.#options;
      log.info(`config: there is no ConfigMap ${namespace}/${name}`);
      this.#deliver(NO_CONTENT);
    }
    this.#settle();
  }

  #deliver(content: ConfigMapContent): void {
    if (content.version === this.#version) return;
    this.#version = content.version;
    try {
      this.#options.onChange(content);
      this.refused = undefined;
    } catch (error) {
      this.#rejected++;
      this.refused = logRefusedConfig(this.#options.log, error);
    }
  }
}

interface ConfigMapEvents {
  readonly take: (object: V1ConfigMap) => void;
  readonly drop: () => void;
  readonly onSynced: () => void;
  readonly onDenied: () => void;
}

/** No field of the object needs storing: its content has been delivered. */
const DELIVERED = { version: '', listNumber: 0 };

/** The list/watch loop over the one object; none of the events throws. */
function watchConfigMap(
  options: ConfigMapSourceOptions,
  events: ConfigMapEvents,
): Pick<ListWatch<V1ConfigMap, Projection>, 'start' | 'close'> {
  const { client, namespace, name, log, random, pace } = options;
  const ownKey = `${namespace}/${name}`;
  return new ListWatch<V1ConfigMap, Projection>({
    client: selecting(client, `metadata.name=${name}`),
    path: `/api/v1/namespaces/${namespace}/configmaps`,
    log,
    sink: {
      // A server that ignores the selector must not configure us with other objects.
      project: (key, object) => {
        if (key === ownKey) events.take(object);
        return { ...DELIVERED };
      },
      change: (key, _before, after) => {
        if (key === ownKey && after === undefined) events.drop();
      },
    },
    onSynced: events.onSynced,
    onDenied: events.onDenied,
    ...(random && { random }),
    ...(pace && { pace }),
  });
}

/** Adds a field selector to every request. */
function selecting(client: ApiReader, fieldSelector: string): ApiReader {
  return {
    get: (request) => {
      request.query.set('fieldSelector', fieldSelector);
      return client.get(request);
    },
  };
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
