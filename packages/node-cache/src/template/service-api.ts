import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { IncomingMessage } from 'node:http';
import { isIpAddress } from '@kube-dns/daemon';
import { addressText, parseAddress } from '@kube-dns/wire';

export interface ServiceApiOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Where kubelet mounts the account of the pod; its usual place by default. */
  readonly accountFolder?: string;
}

const ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';
const TIMEOUT_MS = 2_000;
const MAX_BYTES = 65_536;
const OK = 200;

/**
 * Asks the API server for the address of a service in the pod's namespace: the environment has that of the pod's start.
 * It needs an account that may get this service.
 */
export class ServiceApi {
  readonly #options: ServiceApiOptions;

  constructor(options: ServiceApiOptions) {
    this.#options = options;
  }

  /** Rejects with the reason when there is no address. */
  async addressOf(service: string): Promise<string> {
    const { env, accountFolder = ACCOUNT_FOLDER } = this.#options;
    const host = env.KUBERNETES_SERVICE_HOST ?? '';
    if (host === '') throw new Error('KUBERNETES_SERVICE_HOST is not set');
    const read = (file: string) => readFileSync(join(accountFolder, file), 'utf8').trim();
    const text = await get({
      host,
      port: env.KUBERNETES_SERVICE_PORT ?? '443',
      path: `/api/v1/namespaces/${read('namespace')}/services/${service}`,
      ca: read('ca.crt'),
      headers: { authorization: `Bearer ${read('token')}`, accept: 'application/json' },
    });
    const { spec } = JSON.parse(text) as { spec?: { clusterIP?: unknown } };
    const address = spec?.clusterIP;
    if (typeof address !== 'string' || !isIpAddress(address)) {
      throw new Error(`service ${service} has no clusterIP`);
    }
    return addressText(parseAddress(address)!);
  }
}

interface Request {
  readonly host: string;
  readonly port: string;
  readonly path: string;
  readonly ca: string;
  readonly headers: Readonly<Record<string, string>>;
}

function get(options: Request): Promise<string> {
  // Loaded when it is needed, which is seldom: it takes 7 MiB (RSS).
  const https = process.getBuiltinModule('node:https');
  return new Promise((resolve, reject) => {
    const request = https.get({ ...options, timeout: TIMEOUT_MS, agent: false }, (response) => {
      readText(response).then(resolve, reject);
    });
    request.on('timeout', () => request.destroy(new Error(`no answer in ${TIMEOUT_MS} ms`)));
    request.on('error', reject);
  });
}

async function readText(response: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of response) {
    length += (piece as Buffer).length;
    if (length > MAX_BYTES) throw new Error(`an answer of more than ${MAX_BYTES} bytes`);
    pieces.push(piece as Buffer);
  }
  const { statusCode = 0 } = response;
  if (statusCode !== OK) throw new Error(`the API server answers ${statusCode}`);
  return Buffer.concat(pieces).toString('utf8');
}
