import type { Request, Response } from 'express';
import type { Cluster } from '../cluster/cluster.js';
import type { Written } from '../cluster/registry.js';
import { ApiError } from '../errors.js';
import { isJsonObject, type KubeObject } from '../object.js';
import { jsonPatch } from '../patch/json-patch.js';
import { mergePatch } from '../patch/merge-patch.js';
import { strategicMergePatch } from '../patch/strategic-merge-patch.js';
import type { RequestLog } from '../request-log.js';
import type { ResourceKind } from '../resources/resource-kind.js';
import { createObjectSelector } from '../selectors/object-selector.js';
import type { Switches, Verb } from '../switches.js';
import { mediaTypeOf, parseBody } from './body.js';
import { listPage, type ListScope } from './list.js';
import { parseListOptions, parseWriteOptions, refuseInitialEvents } from './query.js';
import { createRepresentation, type ListBody, type Representation } from './representation.js';
import { scaleOf, withScale } from './scale.js';
import { successStatus } from './status.js';
import type { Target } from './target.js';
import type { WatchHub } from './watch-hub.js';
import { serveWatch } from './watch.js';

/** The parts of the server that answer requests for resources. */
export interface ApiContext {
  readonly cluster: Cluster;
  readonly hub: WatchHub;
  readonly switches: Switches;
  readonly requests: RequestLog;
  readonly clock: () => number;
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
  const verb = (target.name === undefined ? COLLECTION_VERBS : OBJECT_VERBS)[method];
  if (target.isScale) return verb !== undefined && verb in SCALE_HANDLERS ? verb : undefined;
  if (verb === 'list' && parseListOptions(query).isWatch) return 'watch';
  // All namespaces together can be read but not written.
  const isAcross = target.kind.isNamespaced && target.namespace === undefined;
  return isAcross && verb !== 'list' ? undefined : verb;
}

/** Answers one request for a resource. Throws an {@link ApiError} where it is refused. */
export function handleResource(
  context: ApiContext,
  target: Target,
  verb: Verb,
  request: Request,
  response: Response,
): void {
  const query = queryOf(request);
  const { kind } = target;
  const call: Call = {
    request,
    response,
    query,
    kind,
    namespace: target.namespace ?? '',
    name: target.name ?? '',
    representation: createRepresentation(kind, request.get('accept'), query, context.clock),
  };
  const handler = (target.isScale ? SCALE_HANDLERS[verb] : undefined) ?? HANDLERS[verb];
  handler(context, call, scopeOf(target, query));
}

/** The parameters of a request. */
export function queryOf(request: Request): URLSearchParams {
  const start = request.url.indexOf('?');
  return new URLSearchParams(start < 0 ? '' : request.url.slice(start + 1));
}

type Handler = (context: ApiContext, call: Call, scope: ListScope) => void;

function scopeOf({ kind, namespace }: Target, query: URLSearchParams): ListScope {
  const labelSelector = query.get('labelSelector') ?? '';
  const fieldSelector = query.get('fieldSelector') ?? '';
  return {
    resource: kind.plural,
    namespace,
    selector: createObjectSelector(kind, { labelSelector, fieldSelector }),
    hasSelector: labelSelector !== '' || fieldSelector !== '',
  };
}

function answerWritten({ response, representation }: Call, written: Written): void {
  for (const warning of written.warnings) {
    response.append('warning', `299 - ${JSON.stringify(warning)}`);
  }
  response.status(written.isCreated ? 201 : 200).json(representation.one(written.object));
}

function answerList(response: Response, body: ListBody): void {
  if ('value' in body) {
    response.json(body.value);
    return;
  }
  const length = body.pieces.reduce((sum, piece) => sum + piece.length, 0);
  response.type('json').set('content-length', String(length));
  // All pieces are sent in one system call.
  response.cork();
  for (const piece of body.pieces) response.write(piece);
  response.end();
  response.uncork();
}

function bodyOf({ request }: Call): unknown {
  return parseBody(request.body, request.get('content-type'));
}

function requireBody(call: Call): unknown {
  const body = bodyOf(call);
  if (body === undefined) throw new ApiError('BadRequest', 'the request has no body');
  return body;
}

/** Source: metav1.DeleteOptions; only the preconditions and `dryRun` have an effect here. */
function deleteOptionsOf(call: Call): {
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
  readonly isDryRun: boolean;
} {
  const body = bodyOf(call);
  if (body !== undefined && !isJsonObject(body)) {
    throw new ApiError('BadRequest', 'the delete options are not an object');
  }
  const preconditions = body?.preconditions;
  const { uid, resourceVersion } = isJsonObject(preconditions) ? preconditions : {};
  const dryRun = body?.dryRun;
  return {
    uid: typeof uid === 'string' ? uid : undefined,
    resourceVersion: typeof resourceVersion === 'string' ? resourceVersion : undefined,
    isDryRun:
      parseWriteOptions(call.query).isDryRun || (Array.isArray(dryRun) && dryRun.length > 0),
  };
}

function patchOf(call: Call): (current: KubeObject) => unknown {
  const mediaType = mediaTypeOf(call.request.get('content-type'));
  const { mergeKeys } = call.kind;
  switch (mediaType) {
    case 'application/merge-patch+json': {
      const patch = requireBody(call);
      if (!isJsonObject(patch)) throw new ApiError('BadRequest', 'the patch is not an object');
      return (current) => mergePatch(current, patch);
    }
    case 'application/strategic-merge-patch+json': {
      const patch = requireBody(call);
      return (current) => strategicMergePatch(current, patch, mergeKeys);
    }
    case 'application/json-patch+json': {
      const patch = requireBody(call);
      return (current) => jsonPatch(current, patch);
    }
    default:
      throw new ApiError(
        'UnsupportedMediaType',
        `the body of the request was in an unknown format (${mediaType}) - accepted media types include: application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json`,
      );
  }
}

const HANDLERS: Readonly<Record<Verb, Handler>> = {
  get({ cluster }, { response, representation, kind, namespace, name }) {
    response.json(representation.one(cluster.registry.get(kind, namespace, name)));
  },

  list({ cluster, switches }, { response, representation, query }, scope) {
    const options = parseListOptions(query);
    const limit = switches.supportsLimit ? options.limit : 0;
    const page = listPage(cluster.store, scope, { ...options, limit });
    answerList(response, representation.list(page.objects, page.meta));
  },

  watch({ cluster, hub, switches }, { response, representation, query }, scope) {
    const options = parseListOptions(query);
    if (options.sendsInitialEvents !== undefined && !switches.supportsInitialEvents) {
      throw refuseInitialEvents();
    }
    serveWatch(response, { store: cluster.store, hub, scope, options, representation });
  },

  create({ cluster }, call) {
    const options = parseWriteOptions(call.query);
    const body = requireBody(call);
    answerWritten(call, cluster.registry.create(call.kind, call.namespace, body, options));
  },

  update({ cluster }, call) {
    const { kind, namespace, name } = call;
    const options = parseWriteOptions(call.query);
    const body = requireBody(call);
    answerWritten(call, cluster.registry.update(kind, namespace, name, body, options));
  },

  patch({ cluster }, call) {
    const { kind, namespace, name } = call;
    const options = parseWriteOptions(call.query);
    answerWritten(call, cluster.registry.patch(kind, namespace, name, patchOf(call), options));
  },

  delete({ cluster }, call) {
    const { kind, namespace, name, response, representation } = call;
    const object = cluster.registry.delete(kind, namespace, name, deleteOptionsOf(call));
    const { uid, deletionTimestamp } = object.metadata;
    // An object that waits for its finalizers is returned, so that the client sees its state.
    if (kind.returnsDeleted || deletionTimestamp) response.json(representation.one(object));
    else {
      const { group, plural } = kind;
      response.json(successStatus({ name, ...(group && { group }), kind: plural, uid }));
    }
  },

  deletecollection({ cluster }, call, scope) {
    const { kind, response, representation } = call;
    const options = deleteOptionsOf(call);
    const { objects } = listPage(cluster.store, scope, parseListOptions(call.query));
    const deleted = objects.map(({ metadata }) =>
      cluster.registry.delete(kind, metadata.namespace ?? '', metadata.name, options),
    );
    const resourceVersion = String(cluster.store.revision);
    answerList(response, representation.list(deleted, { resourceVersion }));
  },
};

function writeScale({ cluster }: ApiContext, call: Call, change: (scale: KubeObject) => unknown) {
  const { kind, namespace, name, query, response } = call;
  const { object } = cluster.registry.patch(
    kind,
    namespace,
    name,
    (current) => withScale(current, change(scaleOf(current))),
    parseWriteOptions(query),
  );
  response.json(scaleOf(object));
}

/** The verbs of the subresource `scale`. */
const SCALE_HANDLERS: Readonly<Partial<Record<Verb, Handler>>> = {
  get({ cluster }, { response, kind, namespace, name }) {
    response.json(scaleOf(cluster.registry.get(kind, namespace, name)));
  },

  update(context, call) {
    const scale = requireBody(call);
    writeScale(context, call, () => scale);
  },

  patch(context, call) {
    writeScale(context, call, patchOf(call));
  },
};
