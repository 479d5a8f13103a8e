import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';

/** Two authorities and a certificate of each for 127.0.0.1, for nothing but this proof. */
const CERTIFICATES = new URL('../../certificates/', import.meta.url);

/** Whose certificate a server shows. */
export type Authority = 'one' | 'two';

function certificateFile(name: string): string {
  return readFileSync(new URL(name, CERTIFICATES), 'utf8');
}

/** The certificate of an authority, as the file `ca.crt` of a service account has it. */
export function authorityCertificate(authority: Authority): string {
  return certificateFile(`ca-${authority}.pem`);
}

function ownCertificate(authority: Authority): { readonly key: string; readonly cert: string } {
  return {
    key: certificateFile(`server-${authority}.key`),
    cert: certificateFile(`server-${authority}.pem`),
  };
}

/** TLS and tokens in front of our API server. */
export class SecureApi {
  readonly #server: Server;
  #token: string;
  /** Requests that came with another token. */
  refused = 0;

  private constructor(target: number, token: string) {
    this.#token = token;
    this.#server = createServer(ownCertificate('one'), (incoming, outgoing) => {
      if (incoming.headers.authorization !== `Bearer ${this.#token}`) {
        this.refused++;
        outgoing.writeHead(401, { 'content-type': 'application/json' });
        outgoing.end(JSON.stringify({ kind: 'Status', code: 401, message: 'Unauthorized' }));
        return;
      }
      const { method, url: path, headers } = incoming;
      const passed = request({ port: target, host: '127.0.0.1', method, path, headers });
      passed.on('response', (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      });
      passed.on('error', () => outgoing.destroy());
      outgoing.on('close', () => passed.destroy());
      passed.end();
    });
    this.#server.on('tlsClientError', () => undefined);
  }

  /** Listens in front of an API server at a port of 127.0.0.1; authority one, and this token. */
  static async start(target: number, token: string): Promise<SecureApi> {
    const api = new SecureApi(target, token);
    api.#server.listen(0, '127.0.0.1');
    await once(api.#server, 'listening');
    return api;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** From now on only this token is good; connections end. */
  expect(token: string): void {
    this.#token = token;
    this.#server.closeAllConnections();
  }

  /** From now on the certificate is of this authority; connections end. */
  show(authority: Authority): void {
    this.#server.setSecureContext(ownCertificate(authority));
    this.#server.closeAllConnections();
  }

  /** May be called twice. */
  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
