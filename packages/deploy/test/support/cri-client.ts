import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { connect } from 'node:net';
import {
  type CriMessage,
  type CriResponse,
  decodeResponse,
  encodeRequest,
} from './cri-messages.js';

const FRAME_HEADER_BYTES = 5;

/** Calls a container runtime as kubelet does: gRPC over a Unix socket, no more of it than these calls need. */
export class CriClient {
  readonly #session: ClientHttp2Session;

  constructor(socketPath: string) {
    this.#session = connectHttp2('http://localhost', {
      createConnection: () => connect(socketPath),
    });
    this.#session.on('error', () => {
      // Every call in flight also fails with it.
    });
  }

  /** Calls a method of runtime.v1.RuntimeService; throws with the message of the runtime. */
  async call(method: string, request: CriMessage): Promise<CriResponse> {
    const message = encodeRequest(method, request);
    const frame = Buffer.alloc(FRAME_HEADER_BYTES);
    frame.writeUInt32BE(message.length, 1);
    const stream = this.#session.request({
      ':method': 'POST',
      ':path': `/runtime.v1.RuntimeService/${method}`,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    let trailers: Record<string, unknown> = {};
    const collect = (headers: object) => (trailers = { ...trailers, ...headers });
    // A call that fails immediately has its status in the headers.
    stream.on('response', collect);
    stream.on('trailers', collect);
    stream.end(Buffer.concat([frame, message]));
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    if (trailers['grpc-status'] !== '0') {
      throw new Error(`${method}: ${decodeURIComponent(String(trailers['grpc-message']))}`);
    }
    return decodeResponse(method, Buffer.concat(chunks).subarray(FRAME_HEADER_BYTES));
  }

  /** The process of a sandbox or a container, from the `info` of a verbose status, which is JSON. */
  async pidOf(kind: 'PodSandbox' | 'Container', id: string): Promise<number> {
    const name = kind === 'PodSandbox' ? 'pod_sandbox_id' : 'container_id';
    const { info } = await this.call(`${kind}Status`, { [name]: id, verbose: true });
    if (info?.info === undefined) throw new Error(`no info about ${id}`);
    return (JSON.parse(info.info) as { readonly pid: number }).pid;
  }

  close(): void {
    this.#session.destroy();
  }
}
