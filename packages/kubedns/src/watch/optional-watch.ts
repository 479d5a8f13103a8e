import { createHash } from 'node:crypto';
import { ApiError } from '../errors.js';
import type { ApiBody, ApiReader, ApiRequest } from './api-client.js';
import { ListWatch, type ListWatchOptions } from './list-watch.js';
import type { ApiObject, ObjectSink, Projection } from './store.js';

/** The resources that the cluster's own zone does without. Each has its kind of list in json-stream.ts, too. */
export const OPTIONAL_RESOURCES = [
  'serviceimports',
  'ingresses',
  'httproutes',
  'grpcroutes',
  'tlsroutes',
  'gateways',
] as const;
export type OptionalName = (typeof OPTIONAL_RESOURCES)[number];

/**
 * A resource that the API server may not have, as a CRD, or that needs rights of its own. It is watched where it is served,
 * and holds up nothing: neither readiness nor the zone of the cluster.
 */
export interface OptionalResource<
  T extends ApiObject = ApiObject,
  K extends Projection = Projection,
> {
  /** As `multicluster.x-k8s.io`. */
  readonly group: string;
  readonly resource: OptionalName;
  /** Those that can be read, the newest first: the first that is served is used. */
  readonly versions: readonly string[];
  /** `objectOf` makes the object for snapshots; of equal records it must be equal but for its version. */
  readonly sink: ObjectSink<T, K> & Required<Pick<ObjectSink<T, K>, 'objectOf'>>;
}

/** Whether it is watched: the API server may not have it, forbid it, or not have answered yet. */
export type OptionalState = 'starting' | 'watching' | 'absent' | 'denied';

export interface OptionalWatchOptions extends Omit<
  ListWatchOptions<ApiObject, Projection>,
  'path' | 'sink' | 'onSynced' | 'onDenied' | 'isAbsent' | 'versions'
> {
  readonly resource: OptionalResource;
  /** Called when all objects are known: after the first list, and when the API server proves not to have the resource. */
  readonly onKnown: () => void;
  /** Called after each change of the objects, with what tells two sets of them apart. */
  readonly onContent: (digest: string) => void;
}

/**
 * Watches an optional resource. Its version is looked up before a list; while the API server does not have it, or forbids it,
 * this is done again each 60 s (`deniedPauseMs`). When a CRD is removed its objects are dropped; when access is denied
 * later they stay, as those of any resource.
 */
export class OptionalWatch {
  readonly name: OptionalName;
  readonly watch: ListWatch<ApiObject, Projection>;

  constructor({ resource, onKnown, onContent, client, ...base }: OptionalWatchOptions) {
    this.name = resource.resource;
    const drop = () => {
      void this.watch.forget().then(onKnown);
    };
    const served = new ServedResource(client, resource, () => {
      // Access was denied before: ListWatch does not say that again.
      if (this.watch.isDenied) drop();
    });
    this.watch = new ListWatch<ApiObject, Projection>({
      ...base,
      client: served,
      path: `/apis/${resource.group}/${resource.resource}`,
      sink: digestedSink(resource.sink, onContent),
      isAbsent: () => served.isAbsent,
      onSynced: onKnown,
      onDenied: () => {
        if (served.isAbsent) drop();
      },
    });
  }

  get state(): OptionalState {
    const { isDenied, isSynced, isAbsent } = this.watch;
    if (isDenied) return isAbsent ? 'absent' : 'denied';
    return isSynced ? 'watching' : 'starting';
  }
}

const NOT_FOUND = 404;
const FORBIDDEN = 403;
/** The resources of a group have some kilobytes. */
const MAX_RESOURCES_BYTES = 1024 * 1024;

/** Requests to a resource, whose version is looked up first and after each refusal. */
class ServedResource implements ApiReader {
  /** Whether the API server did not have it at the last look. */
  isAbsent = false;
  version = '';
  readonly #client: ApiReader;
  readonly #resource: OptionalResource;
  readonly #onAbsent: () => void;

  constructor(client: ApiReader, resource: OptionalResource, onAbsent: () => void) {
    this.#client = client;
    this.#resource = resource;
    this.#onAbsent = onAbsent;
  }

  async get({ query, signal, isWatch = false, isAlone = false }: ApiRequest): Promise<ApiBody> {
    const { group, resource } = this.#resource;
    if (this.version === '') this.version = await this.#look(signal, isAlone);
    const path = `/apis/${group}/${this.version}/${resource}`;
    try {
      return await this.#client.get({ path, query, signal, isWatch, isAlone });
    } catch (error) {
      // The version may not be served any more, and another one be.
      if (isRefusal(error)) this.version = '';
      throw error;
    }
  }

  /** Resolves to the version that is served. Rejects with an ApiError (404) when none is. */
  async #look(signal: AbortSignal, isAlone: boolean): Promise<string> {
    const { group, resource, versions } = this.#resource;
    for (const version of versions) {
      if (!(await this.#hasIn(version, signal, isAlone))) continue;
      this.isAbsent = false;
      return version;
    }
    const wasAbsent = this.isAbsent;
    this.isAbsent = true;
    if (!wasAbsent) this.#onAbsent();
    const reason = `the API server does not have ${resource}.${group} (${versions.join(', ')})`;
    throw new ApiError(NOT_FOUND, reason);
  }

  async #hasIn(version: string, signal: AbortSignal, isAlone: boolean): Promise<boolean> {
    const path = `/apis/${this.#resource.group}/${version}`;
    try {
      const body = await this.#client.get({ path, query: new URLSearchParams(), signal, isAlone });
      return namesOf(await readJson(body)).includes(this.#resource.resource);
    } catch (error) {
      if (error instanceof ApiError && error.status === NOT_FOUND) return false;
      // Whether it is there is not known: no reason to drop what is known.
      if (isRefusal(error)) this.isAbsent = false;
      throw error;
    }
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && (error.status === NOT_FOUND || error.status === FORBIDDEN);
}

/** The names in an APIResourceList. */
function namesOf(list: unknown): unknown[] {
  const { resources } = Object(list) as { resources?: unknown };
  return Array.isArray(resources)
    ? resources.map((each) => (Object(each) as { name?: unknown }).name)
    : [];
}

async function readJson(body: ApiBody): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const { bytes } of body) {
    chunks.push(bytes);
    if ((size += bytes.length) > MAX_RESOURCES_BYTES) break;
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    /* Cut, or no JSON: as a group without resources. */
    return undefined;
  }
}

/** A sink that also counts what is stored, in a number that does not depend on the order of events. */
function digestedSink<T extends ApiObject, K extends Projection>(
  sink: OptionalResource<T, K>['sink'],
  onContent: (digest: string) => void,
): ObjectSink<T, K> {
  let sum = 0n;
  const numberOf = (key: string, stored: K | undefined) =>
    stored === undefined ? 0n : contentNumber(sink.objectOf(key, stored));
  return {
    project: (key, object, onRejected) => sink.project(key, object, onRejected),
    objectOf: (key, stored) => sink.objectOf(key, stored),
    isSame: (before, after) => sink.isSame?.(before, after) === true,
    bytesOf: (stored) => sink.bytesOf?.(stored) ?? 0,
    change: (key, before, after) => {
      sum = BigInt.asUintN(64, sum + numberOf(key, after) - numberOf(key, before));
      onContent(sum.toString(16));
      sink.change(key, before, after);
    },
  };
}

/** 64 bits of a hash of an object without its version: replicas may have stored other versions of the same content. */
function contentNumber(object: ApiObject): bigint {
  const text = JSON.stringify(object, (name, value: unknown) =>
    name === 'resourceVersion' ? undefined : value,
  );
  return createHash('sha256').update(text).digest().readBigUInt64BE();
}
