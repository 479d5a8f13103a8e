import type { Request, Response } from 'express';
import type { Cluster } from '../cluster/cluster.js';
import type { WriteOptions, Written } from '../cluster/registry.js';
import { ApiError } from '../errors.js';
import { isJsonObject, keyOf, type JsonObject, type KubeObject } from '../object.js';
import { changeOf, checkPatchType, type Change } from '../patch.js';
import type { RequestLog, Switches, Verb } from '../switches.js';
import type { ResourceKind } from '../resources/resource-kind.js';
import { createObjectSelector } from '../selectors.js';
import {
  answerJson,
  answerPieces,
  successStatus,
  createRepresentation,
  type Representation,
} from './answer.js';
import { mediaTypeOf, parseBody, type Body } from './body.js';
import { listPage, refuseFutureVersion, requiredVersion, type ListScope } from './list.js';
import {
  parseDeleteOptions,
  parseListOptions,
  parseWriteOptions,
  refuseInitialEvents,
  type Subresource,
  type Target,
} from './request.js';
import { serveWatch, type WatchHub } from './watch.js';

interface Scalable extends KubeObject {
  readonly spec: { readonly replicas?: number; readonly selector?: { matchLabels?: object } };
  readonly status?: { readonly replicas?: number };
}

/** The subresource of a deployment that `kubectl scale` reads and writes: `autoscaling/v1.Scale`. */
function scaleOf(object: KubeObject): KubeObject {
  const { metadata, spec, status } = object as Scalable;
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const labels = Object.entries(spec.selector?.matchLabels ?? {});
  const selector = labels.map(([label, value]) => `${label}=${value}`).join(',');
  const scale = {
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: spec.replicas },
    status: { replicas: status?.replicas ?? 0, selector },
  };
  return scale as unknown as KubeObject;
}

/** A deployment with the replicas of a Scale, which a client sent; a version in it is a precondition. */
function withScale(object: KubeObject, scale: unknown): unknown {
  const { metadata, spec }: JsonObject = isJsonObject(scale) ? scale : {};
  // A missing number is 0, as in every other object of the API.
  const replicas = isJsonObject(spec) ? (spec.replicas ?? 0) : undefined;
  if (!Number.isInteger(replicas) || Number(replicas) < 0) {
    throw new ApiError('BadRequest', 'the scale has no spec.replicas of 0 or more');
  }
  const resourceVersion = isJsonObject(metadata) ? metadata.resourceVersion : undefined;
  return {
    ...object,
    metadata: { ...object.metadata, ...(resourceVersion !== undefined && { resourceVersion }) },
    spec: { ...(object as Scalable).spec, replicas },
  };
}

/** The parts of the server that answer requests for resources. */
export interface ApiContext {
  readonly cluster: Cluster;
  readonly hub: WatchHub;
  readonly switches: Switches;
  readonly requests: RequestLog;
  readonly clock: () => number;
  /** How long a read waits for a version that is yet to come. */
  readonly freshnessWaitMs: number;
}

/** One request for a resource, parsed as far as all verbs need it. */
interface Call {
  readonly request: Request;
  readonly response: Response;
  readonly query: URLSearchParams;
  readonly kind: ResourceKind;
  /** Empty for cluster-scoped kinds and for all namespaces. */
  readonly namespace: string;
  readonly name: string;
  readonly subresource: Subresource | undefined;
  readonly representation: Representation;
}

const COLLECTION_VERBS: Readonly<Record<string, Verb>> = {
  GET: 'list',
  POST: 'create',
  DELETE: 'deletecollection',
};

const OBJECT_VERBS: Readonly<Record<string, Verb>> = {
  GET: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** The verb of a request for a resource; undefined when the method is not allowed. */
export function verbOf(method: string, target: Target, query: URLSearchParams): Verb | undefined {
  if (target.isWatch) return method === 'GET' ? 'watch' : undefined;
  const verb = (target.name === undefined ? COLLECTION_VERBS : OBJECT_VERBS)[method];
  if (target.subresource) return verb !== undefined && verb in SCALE_HANDLERS ? verb : undefined;
  if (verb === 'list' && parseListOptions(query).isWatch) return 'watch';
  // All namespaces together can be read but not written.
  const isAcross = target.kind.isNamespaced && target.namespace === undefined;
  return isAcross && verb !== 'list' ? undefined : verb;
}

/** Answers one request for a resource. Rejects with an {@link ApiError} where it is refused. */
export async function handleResource(
  context: ApiContext,
  target: Target,
  verb: Verb,
  request: Request,
  response: Response,
): Promise<void> {
  const query = queryOf(request);
  const { kind } = target;
  const call: Call = {
    request,
    response,
    query,
    kind,
    namespace: target.namespace ?? '',
    name: target.name ?? '',
    subresource: target.subresource,
    representation: createRepresentation(kind, request.get('accept'), query, context.clock),
  };
  const wanted = requiredVersion(verb, query);
  const { store } = context.cluster;
  if (wanted > store.revision) await store.reached(wanted, context.freshnessWaitMs);
  const handler =
    (target.subresource === 'scale' ? SCALE_HANDLERS[verb] : undefined) ?? HANDLERS[verb];
  await handler(context, call, scopeOf(target, query));
}

/** The parameters of a request. */
export function queryOf(request: Request): URLSearchParams {
  const start = request.url.indexOf('?');
  return new URLSearchParams(start < 0 ? '' : request.url.slice(start + 1));
}

type Handler = (context: ApiContext, call: Call, scope: ListScope) => Promise<void> | void;

function scopeOf(target: Target, query: URLSearchParams): ListScope {
  const { kind, namespace } = target;
  const labelSelector = query.get('labelSelector') ?? '';
  const fieldSelector = fieldSelectorOf(target, query.get('fieldSelector') ?? '');
  return {
    resource: kind.plural,
    namespace,
    prefix: kind.isNamespaced && namespace === undefined ? '' : `${namespace ?? ''}/`,
    selector: createObjectSelector(kind, { labelSelector, fieldSelector }),
    hasSelector: labelSelector !== '' || fieldSelector !== '',
  };
}

/** A watch of one object is one that selects its name. */
function fieldSelectorOf({ isWatch, name }: Target, fieldSelector: string): string {
  if (!isWatch || name === undefined) return fieldSelector;
  const selectsName = fieldSelector
    .split(',')
    .some((term) => [`metadata.name=${name}`, `metadata.name==${name}`].includes(term.trim()));
  if (selectsName) return fieldSelector;
  if (fieldSelector === '') return `metadata.name=${name}`;
  throw new ApiError('BadRequest', "fieldSelector metadata.name doesn't match requested name");
}

function answerWritten({ response, representation }: Call, written: Written): Promise<void> {
  for (const warning of written.warnings) {
    response.append('warning', `299 - ${JSON.stringify(warning)}`);
  }
  return answerJson(response, representation.one(written.object), written.isCreated ? 201 : 200);
}

function bodyOf({ request }: Call): Body {
  return parseBody(request.body, request.get('content-type'));
}

function requireBody(call: Call): Body {
  const body = bodyOf(call);
  if (body.value === undefined) throw new ApiError('BadRequest', 'the request has no body');
  return body;
}

/** How a write with this body is done. */
function writeOptionsOf(
  { query, subresource }: Call,
  kind: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions',
  { duplicates }: Body,
): WriteOptions {
  const part = subresource === 'status' ? 'status' : 'object';
  return { ...parseWriteOptions(query, kind), part, duplicates };
}

function readPatch(call: Call): { readonly change: Change; readonly options: WriteOptions } {
  const mediaType = mediaTypeOf(call.request.get('content-type'));
  checkPatchType(mediaType);
  const body = requireBody(call);
  const options = writeOptionsOf(call, 'PatchOptions', body);
  return { change: changeOf(mediaType, body.value, call.kind.mergeKeys), options };
}

const HANDLERS: Readonly<Record<Verb, Handler>> = {
  get({ cluster }, { response, representation, kind, namespace, name, query }) {
    const { registry, store } = cluster;
    const wanted = requiredVersion('get', query);
    if (wanted > store.revision) throw refuseFutureVersion(wanted, store.revision);
    return answerJson(response, representation.one(registry.get(kind, namespace, name)));
  },

  list({ cluster, switches }, { response, representation, query }, scope) {
    const options = parseListOptions(query);
    const limit = switches.supportsLimit ? options.limit : 0;
    const page = listPage(cluster.store, scope, { ...options, limit });
    return answerPieces(response, representation.list(page.objects, page.meta));
  },

  watch({ cluster, hub, switches }, { response, representation, query }, scope) {
    const options = parseListOptions(query, true);
    if (options.sendsInitialEvents !== undefined && !switches.supportsInitialEvents) {
      throw refuseInitialEvents();
    }
    serveWatch(response, {
      store: cluster.store,
      hub,
      scope,
      options,
      representation,
      marksInitialEnd: switches.supportsInitialEvents,
    });
  },

  create({ cluster }, call) {
    const body = requireBody(call);
    const options = writeOptionsOf(call, 'CreateOptions', body);
    return answerWritten(
      call,
      cluster.registry.create(call.kind, call.namespace, body.value, options),
    );
  },

  update({ cluster }, call) {
    const { kind, namespace, name } = call;
    const body = requireBody(call);
    const options = writeOptionsOf(call, 'UpdateOptions', body);
    return answerWritten(call, cluster.registry.update(kind, namespace, name, body.value, options));
  },

  patch({ cluster }, call) {
    const { kind, namespace, name } = call;
    const { change, options } = readPatch(call);
    return answerWritten(call, cluster.registry.patch(kind, namespace, name, change, options));
  },

  delete({ cluster }, call) {
    const { kind, namespace, name, query, response, representation } = call;
    const options = parseDeleteOptions(bodyOf(call).value, query);
    const object = cluster.registry.delete(kind, namespace, name, options);
    const { uid, deletionTimestamp } = object.metadata;
    // An object that waits for its finalizers is returned, so that the client sees its state.
    if (kind.returnsDeleted || deletionTimestamp) {
      return answerJson(response, representation.one(object));
    }
    const { group, plural } = kind;
    const details = { name, ...(group && { group }), kind: plural, uid };
    return answerJson(response, successStatus(details));
  },

  deletecollection({ cluster }, call, scope) {
    const { kind, response, representation } = call;
    const options = parseDeleteOptions(bodyOf(call).value, call.query);
    const listed = parseListOptions(call.query);
    // A version in the query is a precondition and that of the list, too.
    const resourceVersionMatch = listed.resourceVersion ? 'Exact' : '';
    const { objects, meta } = listPage(cluster.store, scope, { ...listed, resourceVersionMatch });
    for (const object of objects) {
      const { namespace = '', name } = object.metadata;
      // The garbage collector may have deleted it with its owner.
      if (cluster.store.get(kind.plural, keyOf(object))) {
        cluster.registry.delete(kind, namespace, name, options);
      }
    }
    // The real one, too, answers with the objects as they were.
    return answerPieces(response, representation.list(objects, meta));
  },
};

function writeScale(
  { cluster }: ApiContext,
  { kind, namespace, name, response }: Call,
  change: Change,
  options: WriteOptions,
): Promise<void> {
  const toObject = (current: KubeObject) => withScale(current, change(scaleOf(current)));
  const { object } = cluster.registry.patch(kind, namespace, name, toObject, options);
  return answerJson(response, scaleOf(object));
}

/** The verbs of the subresource `scale`; those of `status` are the same, with other handlers. */
const SCALE_HANDLERS: Readonly<Partial<Record<Verb, Handler>>> = {
  get({ cluster }, { response, kind, namespace, name }) {
    return answerJson(response, scaleOf(cluster.registry.get(kind, namespace, name)));
  },

  update(context, call) {
    const body = requireBody(call);
    const options = writeOptionsOf(call, 'UpdateOptions', body);
    return writeScale(context, call, () => body.value, options);
  },

  patch(context, call) {
    const { change, options } = readPatch(call);
    return writeScale(context, call, change, options);
  },
};
