import { apiVersionsOf, type ResourceKind } from '../resources/resource-kind.js';
import { RESOURCE_KINDS } from '../resources/resource-table.js';
import { subresourcesOf } from './request.js';

/** The release whose behaviour is followed; kubectl warns when its version differs much. */
const VERSION = { major: '1', minor: '33', gitVersion: 'v1.33.0' };

const VERBS = [
  'create',
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'update',
  'watch',
] as const;

const SUBRESOURCE_VERBS = ['get', 'patch', 'update'] as const;
const SCALE = { group: 'autoscaling', version: 'v1', kind: 'Scale' } as const;

/** Every served combination of group and version, as `v1` or `group/version`. */
const GROUP_VERSIONS = [...new Set(RESOURCE_KINDS.flatMap(apiVersionsOf))];

function rootOf(apiVersion: string): string {
  return apiVersion.includes('/') ? `apis/${apiVersion}` : `api/${apiVersion}`;
}

function isOf(apiVersion: string): (kind: ResourceKind) => boolean {
  return (kind) => apiVersionsOf(kind).includes(apiVersion);
}

function resourceList(groupVersion: string): object {
  const resources = RESOURCE_KINDS.filter(isOf(groupVersion)).flatMap((kind) => {
    const { plural: name, singular: singularName, isNamespaced: namespaced } = kind;
    const { shortNames, categories } = kind;
    const resource = { name, singularName, namespaced, kind: kind.kind, verbs: VERBS };
    const parts = subresourcesOf(kind).map((part) => ({
      name: `${name}/${part}`,
      singularName: '',
      namespaced,
      kind: kind.kind,
      ...(part === 'scale' && SCALE),
      verbs: SUBRESOURCE_VERBS,
    }));
    return [{ ...resource, shortNames, categories }, ...parts];
  });
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources };
}

/** A group with its versions, the first of which is preferred. */
function apiGroup(name: string): object {
  const versions = GROUP_VERSIONS.filter((text) => text.startsWith(`${name}/`)).map(
    (groupVersion) => ({ groupVersion, version: groupVersion.slice(name.length + 1) }),
  );
  return { name, versions, preferredVersion: versions[0] };
}

/**
 * `kubectl apply` lets the server validate when the PATCH of a kind accepts `fieldValidation`;
 * otherwise it needs a complete schema. Source: kubectl pkg/validation, cli-runtime resource.
 */
function openApi(groupVersion: string): object {
  const parameters = ['dryRun', 'fieldManager', 'fieldValidation'].map((name) => ({
    name,
    in: 'query',
    schema: { type: 'string', uniqueItems: true },
  }));
  const paths = RESOURCE_KINDS.filter(isOf(groupVersion)).map((kind) => {
    const prefix = kind.isNamespaced ? 'namespaces/{namespace}/' : '';
    const patch = {
      operationId: `patch${kind.kind}`,
      parameters,
      responses: { 200: { description: 'OK' } },
      'x-kubernetes-action': 'patch',
      'x-kubernetes-group-version-kind': {
        group: kind.group,
        version: kind.version,
        kind: kind.kind,
      },
    };
    return [`/${rootOf(groupVersion)}/${prefix}${kind.plural}/{name}`, { patch }];
  });
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: VERSION.gitVersion },
    paths: Object.fromEntries(paths) as object,
  };
}

function createDocuments(): ReadonlyMap<string, object> {
  const versioned = GROUP_VERSIONS.filter((text) => text.includes('/'));
  const named = [...new Set(versioned.map((text) => text.split('/')[0]!))];
  const documents = new Map<string, object>([
    ['/version', { ...VERSION, goVersion: '', platform: `${process.platform}/${process.arch}` }],
    ['/api', { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] }],
    ['/apis', { kind: 'APIGroupList', apiVersion: 'v1', groups: named.map(apiGroup) }],
  ]);
  const v3Paths: Record<string, object> = {};
  for (const groupVersion of GROUP_VERSIONS) {
    const root = rootOf(groupVersion);
    documents.set(`/${root}`, resourceList(groupVersion));
    documents.set(`/openapi/v3/${root}`, openApi(groupVersion));
    v3Paths[root] = { serverRelativeURL: `/openapi/v3/${root}` };
  }
  for (const name of named) {
    documents.set(`/apis/${name}`, { kind: 'APIGroup', apiVersion: 'v1', ...apiGroup(name) });
  }
  documents.set('/openapi/v3', { paths: v3Paths });
  documents.set('/', { paths: [...documents.keys(), '/healthz', '/livez', '/readyz'].sort() });
  return documents;
}

const DOCUMENTS = createDocuments();

/** The discovery document of a path without its final slash. */
export function findDocument(path: string): object | undefined {
  return DOCUMENTS.get(path);
}

/** Paths that answer `ok`. */
export const HEALTH_PATHS: readonly string[] = ['/healthz', '/livez', '/readyz'];
