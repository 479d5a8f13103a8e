import { spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const PODS = '/api/v1/namespaces/default/pods';

/** Whether the pod runs, waits for its image, or fails. */
export type PodFate = 'runs' | 'waits' | 'no-image';

interface FakePod {
  phase: string;
  log: string;
  reason: string;
}

interface Created {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly containers: readonly { readonly command: readonly string[] }[] };
}

/** The pods of the namespace `default` with a kubelet that runs their command here; the rest is another API server. */
export class ProbeApi {
  readonly #server: Server;
  readonly #behind: string;
  readonly #pods = new Map<string, FakePod>();
  /** Method and name of a pod of each request that changed one. */
  readonly changes: string[] = [];
  fate: PodFate = 'runs';
  /** Waits for the first pod. */
  readonly created: Promise<void>;
  #onCreated: () => void = () => undefined;

  private constructor(behind: string) {
    this.#behind = behind;
    this.created = new Promise((resolve) => (this.#onCreated = resolve));
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  static async start(behind: string): Promise<ProbeApi> {
    const api = new ProbeApi(behind);
    await new Promise<void>((resolve) => api.#server.listen(0, '127.0.0.1', resolve));
    return api;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get pods(): readonly string[] {
    return [...this.#pods.keys()];
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = request;
    const path = url.split('?', 1)[0]!;
    if (!path.startsWith(PODS)) {
      const answer = await fetch(this.#behind + url);
      response.writeHead(answer.status, { 'content-type': 'application/json' });
      response.end(await answer.text());
      return;
    }
    const [name = '', part] = path.slice(PODS.length + 1).split('/');
    const pod = this.#pods.get(name);
    if (method === 'POST') {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      this.#create(JSON.parse(Buffer.concat(chunks).toString()) as Created);
      response.writeHead(201).end('{}');
    } else if (path === PODS) response.end('{"items": []}');
    else if (pod === undefined) response.writeHead(404).end('{}');
    else if (method === 'DELETE') {
      this.#pods.delete(name);
      this.changes.push(`DELETE ${name}`);
      response.end('{}');
    } else if (part === 'log') response.end(pod.log);
    else {
      const waiting = pod.reason === '' ? {} : { waiting: { reason: pod.reason } };
      const status = { phase: pod.phase, containerStatuses: [{ state: waiting }] };
      response.end(JSON.stringify({ status }));
    }
  }

  #create({ metadata: { name }, spec }: Created): void {
    const pod: FakePod = { phase: 'Pending', log: '', reason: '' };
    this.#pods.set(name, pod);
    this.changes.push(`POST ${name}`);
    this.#onCreated();
    if (this.fate === 'no-image') pod.reason = 'ErrImagePull';
    if (this.fate !== 'runs') return;
    const [, ...args] = spec.containers[0]!.command;
    // As kubelet replaces an escaped variable.
    const child = spawn(
      process.execPath,
      args.map((each) => each.replaceAll('$$(', '$(')),
    );
    child.stdout.on('data', (chunk: Buffer) => (pod.log += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (pod.log += chunk.toString()));
    child.on('close', (code) => (pod.phase = code === 0 ? 'Succeeded' : 'Failed'));
  }
}
