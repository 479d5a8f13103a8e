import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import type { ApiServer } from '@kube-dns/apiserver';

interface Stored {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly [field: string]: unknown;
  };
  /** Of a revision: that of the deployment or daemon set. */
  readonly template?: unknown;
}

const NAMESPACE = 'kube-system';
const RESOURCES = {
  replicasets: { apiVersion: 'apps/v1', kind: 'ReplicaSet' },
  controllerrevisions: { apiVersion: 'apps/v1', kind: 'ControllerRevision' },
} as const;
type Resource = keyof typeof RESOURCES;
const PATH = new RegExp(
  `^/apis/apps/v1/namespaces/${NAMESPACE}/(${Object.keys(RESOURCES).join('|')})$`,
);

/**
 * A local API server with what `kubectl rollout undo` needs of a cluster beside it: the revisions that the controllers of
 * deployments and daemon sets keep (`deployment.kubernetes.io/revision`, ControllerRevision), in kube-system.
 */
export class ClusterHistory {
  readonly #server: ApiServer;
  readonly #stored: Readonly<Record<Resource, Map<string, Stored>>> = {
    replicasets: new Map(),
    controllerrevisions: new Map(),
  };
  readonly #front = createServer((incoming, response) => this.#answer(incoming, response));
  #version = 0;

  constructor(server: ApiServer) {
    this.#server = server;
  }

  /** Its URL; every object of other kinds is that of the server. */
  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#front.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#front.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#front.closeAllConnections();
    await new Promise((resolve) => this.#front.close(resolve));
  }

  /** What the controllers do when a template has changed. */
  record(): void {
    for (const { metadata, spec } of this.#server.list('Deployment', NAMESPACE)) {
      this.#revise('replicasets', metadata, spec.template, (revision) => ({
        metadata: { annotations: { 'deployment.kubernetes.io/revision': `${revision}` } },
        spec: { replicas: 1, selector: spec.selector, template: spec.template },
      }));
    }
    for (const { metadata, spec } of this.#server.list('DaemonSet', NAMESPACE)) {
      this.#revise('controllerrevisions', metadata, spec.template, (revision) => ({
        metadata: {},
        revision,
        data: { spec: { template: { ...spec.template, $patch: 'replace' } } },
      }));
    }
  }

  #revise(
    resource: Resource,
    owner: { readonly name: string; readonly uid?: unknown },
    template:
      { readonly metadata?: { readonly labels?: Stored['metadata']['labels'] } } | undefined,
    revisionOf: (revision: number) => { readonly metadata: object },
  ): void {
    const own = [...this.#stored[resource].values()].filter(({ metadata }) =>
      metadata.name.startsWith(`${owner.name}-r`),
    );
    // As controllers do, the revision of a template that comes again becomes the newest.
    const found = own.find((each) => isDeepStrictEqual(each.template, template));
    if (found !== undefined && found === own.at(-1)) return;
    if (found !== undefined) this.#stored[resource].delete(found.metadata.name);
    const revision = (this.#version += 1);
    const made = revisionOf(revision);
    const kind = resource === 'replicasets' ? 'Deployment' : 'DaemonSet';
    const { name, uid } = owner;
    this.#stored[resource].set(`${name}-r${revision}`, {
      ...RESOURCES[resource],
      ...made,
      template,
      metadata: {
        ...made.metadata,
        name: `${name}-r${revision}`,
        namespace: NAMESPACE,
        uid: `${name}-r${revision}`,
        labels: template?.metadata?.labels ?? {},
        ownerReferences: [{ apiVersion: 'apps/v1', kind, name, uid, controller: true }],
      },
    });
  }

  #answer(incoming: IncomingMessage, response: ServerResponse): void {
    const url = new URL(incoming.url ?? '', 'http://front');
    const [, resource] = PATH.exec(url.pathname) ?? [];
    if (resource === undefined) {
      this.#pass(incoming, response);
      return;
    }
    const { apiVersion, kind } = RESOURCES[resource as Resource];
    const selector = url.searchParams.get('labelSelector') ?? '';
    const items = [...this.#stored[resource as Resource].values()].filter(({ metadata }) =>
      matches(metadata.labels, selector),
    );
    const metadata = { resourceVersion: `${this.#version}` };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ apiVersion, kind: `${kind}List`, metadata, items }));
  }

  #pass(incoming: IncomingMessage, response: ServerResponse): void {
    const { method, headers, url } = incoming;
    const passed = request(`${this.#server.url}${url ?? ''}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    passed.on('error', (error) => response.destroy(error));
    response.on('close', () => passed.destroy());
    incoming.pipe(passed);
  }
}

/** Selectors of equality, which those of the manifests are. */
function matches(labels: Readonly<Record<string, string>> = {}, selector: string): boolean {
  const wanted = selector.split(',').map((each) => each.split(/=+/));
  return wanted.every(([key = '', value]) => labels[key] === value);
}
