import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { connect } from 'node:net';
import { REQUESTS } from './cri-messages.js';
import { encode, fieldsOf, textOf, type Message } from './protobuf.js';

const FRAME_HEADER_BYTES = 5;

/** Asks a container runtime what kubelet asks: gRPC on a Unix socket, as much of it as these calls need. */
export class CriClient {
  readonly #session: ClientHttp2Session;

  constructor(socketPath: string) {
    this.#session = connectHttp2('http://localhost', {
      createConnection: () => connect(socketPath),
    });
    this.#session.on('error', () => {
      // Every call under way gets it, too.
    });
  }

  /** Calls a method; gives the reply's message, throws what the runtime says. */
  async call(method: keyof typeof REQUESTS, request: Message): Promise<Buffer> {
    const message = encode(request, REQUESTS[method]);
    const frame = Buffer.alloc(FRAME_HEADER_BYTES);
    frame.writeUInt32BE(message.length, 1);
    const stream = this.#session.request({
      ':method': 'POST',
      ':path': `/runtime.v1.RuntimeService/${method}`,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    let trailers: Record<string, unknown> = {};
    const keep = (headers: object) => (trailers = { ...trailers, ...headers });
    // A call that fails at once has its status in the headers.
    stream.on('response', keep);
    stream.on('trailers', keep);
    stream.end(Buffer.concat([frame, message]));
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    if (trailers['grpc-status'] !== '0') {
      throw new Error(`${method}: ${decodeURIComponent(String(trailers['grpc-message']))}`);
    }
    return Buffer.concat(chunks).subarray(FRAME_HEADER_BYTES);
  }

  /** The process of a sandbox or a container, from the `info` that the runtime gives on request, which is JSON. */
  async pidOf(kind: 'PodSandbox' | 'Container', id: string): Promise<number> {
    const name = kind === 'PodSandbox' ? 'pod_sandbox_id' : 'container_id';
    const reply = await this.call(`${kind}Status`, { [name]: id, verbose: true });
    const info = fieldsOf(reply, 2).find((entry) => textOf(entry, 1) === 'info');
    if (info === undefined) throw new Error(`nothing is known about ${id}`);
    return (JSON.parse(textOf(info, 2)) as { readonly pid: number }).pid;
  }

  close(): void {
    this.#session.destroy();
  }
}
