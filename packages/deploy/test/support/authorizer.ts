import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { PolicyRule } from '@kube-dns/testkit/manifests';

/** What a request does, in the words of RBAC: `list discovery.k8s.io/endpointslices`. */
export type Access = string;

/** Every access that rules grant, one by one. */
export function accessesOf(rules: readonly PolicyRule[]): Access[] {
  return rules.flatMap(({ verbs, apiGroups, resources }) =>
    verbs.flatMap((verb) =>
      apiGroups.flatMap((group) => resources.map((name) => `${verb} ${group}/${name}`)),
    ),
  );
}

/** The access that a request needs; undefined for paths that every account can read. */
function accessOf(url: URL): Access | undefined {
  const parts = url.pathname.split('/').filter((part) => part !== '');
  const group = parts.shift() === 'apis' ? (parts.shift() ?? '') : '';
  parts.shift(); // the version
  if (parts[0] === 'namespaces' && parts.length > 2) parts.splice(0, 2);
  const [resource, name] = parts;
  if (resource === undefined) return undefined;
  const isWatch = ['true', '1'].includes(url.searchParams.get('watch') ?? '');
  return `${isWatch ? 'watch' : name === undefined ? 'list' : 'get'} ${group}/${resource}`;
}

/** A proxy before an API server: forwards what the rules grant, and records each access. */
export class Authorizer {
  readonly url: string;
  readonly asked = new Set<Access>();
  readonly denied = new Set<Access>();
  readonly #server;

  private constructor(server: ReturnType<typeof createServer>) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(target: string, rules: readonly PolicyRule[]): Promise<Authorizer> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const authorizer = new Authorizer(server);
    const granted = new Set(accessesOf(rules));
    server.on('request', (incoming: IncomingMessage, outgoing: ServerResponse) => {
      const url = new URL(incoming.url ?? '/', target);
      const access = incoming.method === 'GET' ? accessOf(url) : incoming.method;
      if (access !== undefined) authorizer.asked.add(access);
      if (access === undefined || granted.has(access)) {
        forward(url, incoming, outgoing);
        return;
      }
      authorizer.denied.add(access);
      outgoing.writeHead(403, { 'content-type': 'application/json' });
      outgoing.end(JSON.stringify({ kind: 'Status', status: 'Failure', code: 403 }));
    });
    return authorizer;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }
}

function forward(url: URL, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const onward = request(url, { method: incoming.method, headers: incoming.headers }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
    answer.on('error', () => outgoing.destroy());
  });
  onward.on('error', () => outgoing.destroy());
  outgoing.on('close', () => onward.destroy());
  incoming.pipe(onward);
}
