import type { IncomingMessage } from 'node:http';
import type { RequestOptions } from 'node:https';
import { join } from 'node:path';
import { errorText, MAX_PORT, TLS_CLIENT } from '@kube-dns/base';
import { connectionReason, isIpAddress, type Log, readTextFile } from '@kube-dns/daemon';
import { addressText, parseAddress } from '@kube-dns/wire';

interface ServiceFollowerOptions {
  readonly service: string;
  /** Without the API server. */
  readonly lookup: LookupService;
  /** Asks the API server; rejects when it does not say. */
  readonly ask: (service: string) => Promise<string>;
  readonly log: Pick<Log, 'warn'>;
}

interface FollowedService {
  /** Whether the service is not known, or does not answer. */
  readonly isDown: () => boolean;
  /** The service has another address. */
  readonly onChange: () => void;
}

/** How often it is looked whether the service is down, and how often the API server is asked then. */
const LOOK_MS = 1_000;
const LOOKS_BETWEEN = 10;

/** The address of the DNS of the cluster: looked up again while it does not answer, as a service that is made anew has another. */
export class ServiceFollower {
  readonly #options: ServiceFollowerOptions;
  #address: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #looks = 0;
  #lastFailure = '';

  constructor(options: ServiceFollowerOptions) {
    this.#options = options;
  }

  /** As a LookupService. */
  readonly lookup: LookupService = (service) =>
    service === this.#options.service && this.#address !== undefined
      ? this.#address
      : this.#options.lookup(service);

  start(followed: FollowedService): void {
    this.#timer ??= setInterval(() => void this.look(followed), LOOK_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Asks the API server if the service is down for the second time in a row, and then every ten times. Never rejects. */
  async look({ isDown, onChange }: FollowedService): Promise<void> {
    const { service, ask, log } = this.#options;
    if (!isDown()) {
      this.#looks = 0;
      return;
    }
    if (this.#looks++ % LOOKS_BETWEEN !== 1) return;
    try {
      const address = await ask(service);
      this.#lastFailure = '';
      if (address === this.lookup(service)) return;
      this.#address = address;
      onChange();
    } catch (error) {
      const failure = errorText(error);
      if (failure === this.#lastFailure) return;
      this.#lastFailure = failure;
      log.warn(`the address of service ${service} cannot be looked up: ${failure}`);
    }
  }
}

const DNS_PORT = 53;

/** Finds the address of a service by its name; undefined while there is none. */
export type LookupService = (service: string) => string | undefined;

/** The variable in which Kubernetes has the address of a service (cmd/node-cache/app/cache_app.go, toSvcEnv). */
export function serviceVariable(service: string): string {
  return `${service.replaceAll('-', '_').toUpperCase()}_SERVICE_HOST`;
}

/** The port of a service, where kubelet has put it, too; that of DNS unless it is there. */
export function servicePort(service: string, env: NodeJS.ProcessEnv): number {
  const port = Number(env[serviceVariable(service).replace(/HOST$/, 'PORT')]);
  return Number.isInteger(port) && port > 0 && port <= MAX_PORT ? port : DNS_PORT;
}

/** Looks into the environment, where kubelet has put the services that were there before the pod. */
export function lookupInEnvironment(env: NodeJS.ProcessEnv): LookupService {
  return (service) => {
    const text = env[serviceVariable(service)] ?? '';
    if (!isIpAddress(text)) return undefined;
    // The original's form of an IPv6 address.
    return addressText(parseAddress(text)!);
  };
}

const ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';
const TIMEOUT_MS = 2_000;
const MAX_BYTES = 65_536;
const OK = 200;

/**
 * Asks the API server for the address of a service in the pod's namespace, as the environment has that of the pod's
 * start. It needs an account that may get this service, where kubelet mounts it. Rejects when there is no address.
 */
export async function lookupInApi(
  service: string,
  env: NodeJS.ProcessEnv,
  accountFolder = ACCOUNT_FOLDER,
): Promise<string> {
  const host = env.KUBERNETES_SERVICE_HOST ?? '';
  if (host === '') throw new Error('KUBERNETES_SERVICE_HOST is not set');
  const read = (file: string) => readTextFile(join(accountFolder, file)).trim();
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

function get(options: RequestOptions): Promise<string> {
  // Loaded when it is needed, which is seldom: it takes 7 MiB (RSS).
  const https = process.getBuiltinModule('node:https');
  return new Promise((resolve, reject) => {
    const request = https.get(
      { ...TLS_CLIENT, ...options, timeout: TIMEOUT_MS, agent: false },
      (response) => {
        readText(response).then(resolve, reject);
      },
    );
    request.on('timeout', () => request.destroy(new Error(`no answer in ${TIMEOUT_MS} ms`)));
    // An API server sends none; each would begin the time anew.
    request.on('information', () => request.destroy(new Error('an informational response')));
    request.on('error', (cause) => {
      const server = `https://${options.host}:${options.port}`;
      reject(new Error(connectionReason(cause, server), { cause }));
    });
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
