import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { becomesTrue, type Kubedns, type MetricPage, until } from '@kube-dns/testkit';
import { startKubedns } from '../fixtures/pod-containers.js';
import { type Seen, SteadyClient } from '../fixtures/steady-client.js';
import { ApiFront } from '../fixtures/relays.js';
import { type FaultContext, questionRate } from './fault.js';
import { fillCluster, rightTexts, serviceName } from './small-cluster.js';

/** Two authorities and a certificate of each for 127.0.0.1, for nothing but this proof. */
const CERTIFICATES = new URL('../../certificates/', import.meta.url);

/** Whose certificate a server shows. */
type Authority = 'one' | 'two';

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

/** Services that a cluster has unless said otherwise. */
export const SERVICES = 9;
/** An address that no service has from the start; service 1 gets it. */
export const NEW_ADDRESS = '10.96.200.1';
/** For how long a change is waited for: only one that never comes takes as long. */
export const WAIT_LIMIT_MS = 60_000;
const RATE_PER_SECOND = 100;
const WATCHED = ['services', 'endpointslices', 'namespaces'];

/** An API server behind a front, a kubedns that follows it, and a client that asks it all the time. */
export interface ApiTestbed {
  readonly front: ApiFront;
  readonly kubedns: Kubedns;
  readonly client: SteadyClient;
  /** The server that the front passes to. */
  readonly api: ApiServer;
}

/** An API server with a small cluster. */
export async function startCluster(context: FaultContext): Promise<ApiServer> {
  const api = context.owned.add(await createApiServer());
  await fillCluster(api, SERVICES);
  return api;
}

/** Starts all of it; resolves when kubedns is ready and the client asks. */
export async function startApiTestbed(context: FaultContext): Promise<ApiTestbed> {
  const api = await startCluster(context);
  const front = context.owned.add(await ApiFront.start(api.port));
  const kubedns = await startFollower(context, front);
  await awaitWatches(kubedns, api);
  return { front, kubedns, api, client: await startClient(context, kubedns) };
}

/** Resolves when kubedns is ready, and the watches that follow the first lists are open. */
export async function awaitWatches(kubedns: Kubedns, api: ApiServer): Promise<void> {
  await kubedns.ready();
  await until('the watches', () => WATCHED.every((resource) => api.watchCount(resource) > 0));
}

/** A kubedns that follows the API server behind a front. */
export async function startFollower(
  context: FaultContext,
  front: ApiFront,
  ...flags: readonly string[]
): Promise<Kubedns> {
  const all = [`--kube-master-url=${front.url}`, ...flags];
  return context.owned.add(await startKubedns({ ...context, flags: all }));
}

/** A client that asks for the address of every service, in turn. */
export async function startClient(
  context: FaultContext,
  { ports: { dns: port, metrics } }: Kubedns,
): Promise<SteadyClient> {
  const names = [...rightTexts(SERVICES).keys()];
  const pages = [`http://127.0.0.1:${metrics}`];
  return context.owned.add(
    await SteadyClient.start(
      { port, names, pages, ratePerSecond: questionRate(context, RATE_PER_SECOND) },
      context.signs,
    ),
  );
}

/** Resolves to the moment at which the answers show that service 1 was moved and service 2 deleted. */
export async function awaitChanges(client: SteadyClient): Promise<number> {
  const [movedMs, deletedMs] = await Promise.all([
    client.awaitText(serviceName(1), NEW_ADDRESS, WAIT_LIMIT_MS),
    client.awaitText(serviceName(2), 'NXDOMAIN', WAIT_LIMIT_MS),
  ]);
  return Math.max(movedMs, deletedMs);
}

/** What else than at first is right about service 1 and 2. */
export const CHANGED: Readonly<Record<string, readonly string[]>> = {
  // It was deleted and created again: a watch may deliver the state in between.
  [serviceName(1)]: ['NXDOMAIN', NEW_ADDRESS],
  [serviceName(2)]: ['NXDOMAIN'],
};

/** Right answers in addition to those from the start; default: none. */
interface AlsoRight {
  /** By name: what it has before that. */
  readonly before?: (name: string) => readonly string[];
  /** By name: what it has afterwards, in this order. */
  readonly after?: Readonly<Record<string, readonly string[]>>;
  readonly services?: number;
}

/** Ends the client, and claims that each of its answers is right, and none is one that was over before. */
export async function claimRight(
  context: Pick<FaultContext, 'claim' | 'claimQuiet'>,
  client: Pick<SteadyClient, 'finish'>,
  { before = () => [], after = {}, services = SERVICES }: AlsoRight,
): Promise<void> {
  const first = rightTexts(services);
  const latest = new Map<string, number>();
  const seen = [...(await client.finish())].sort((a, b) => a.sentMs - b.sentMs);
  const isRight = ({ name, text }: Seen) => {
    const order = [...before(name), first.get(name), ...(after[name] ?? [])].indexOf(text);
    const isLater = order >= (latest.get(name) ?? 0);
    latest.set(name, order);
    return isLater;
  };
  const isSilence = ({ text }: Seen) => text === 'silence';
  const lost = seen.filter(isSilence).length;
  context.claimQuiet(lost === 0, `${lost} of ${seen.length} questions have no answer`);
  const wrong = seen.filter((one) => !isSilence(one) && !isRight(one));
  const examples = wrong.slice(0, 3).map(({ name, text }) => `${name}: ${text}`);
  const summary = `${wrong.length} of ${seen.length} answers are wrong: ${examples.join('; ')}`;
  context.claim(wrong.length === 0 && seen.length > 0, summary);
}

const STEP_MS = 20;
const OF_SERVICES = { resource: 'services' };

function restarts(page: MetricPage, reasons: readonly string[]): number {
  return reasons.reduce((sum, reason) => {
    return sum + page.sum('kubedns_watch_restarts_total', { ...OF_SERVICES, reason });
  }, 0);
}

/** Waits until a watch had to begin anew for one of these reasons, which a loaded machine sees late. */
export async function awaitRestart(
  { kubedns }: Pick<ApiTestbed, 'kubedns'>,
  reasons: readonly string[],
): Promise<void> {
  if (reasons.length === 0) return;
  const hasRestarted = async () => restarts(await kubedns.metrics(), reasons) > 0;
  await becomesTrue(hasRestarted, { limitMs: WAIT_LIMIT_MS, stepMs: STEP_MS });
}

/** Claims what holds in any outage: the last state that was received is served. */
export async function claimServing(
  context: FaultContext,
  { kubedns }: { readonly kubedns: Pick<Kubedns, 'metrics' | 'readiness'> },
  silentMs: number,
): Promise<MetricPage> {
  const page = await kubedns.metrics();
  context.claim((await kubedns.readiness()) === 200, 'readiness is not 200 meanwhile');
  context.claim(page.sum('kubedns_ready') === 1, 'kubedns_ready is not 1 meanwhile');
  const age = page.sum('kubedns_last_event_age_seconds', OF_SERVICES);
  context.claimQuiet(age * 1_000 >= silentMs, `kubedns_last_event_age_seconds is ${age} meanwhile`);
  const errors = page.sum('kubedns_unexpected_errors_total');
  context.claim(errors === 0, `kubedns_unexpected_errors_total is ${errors}`);
  return page;
}

/** Claims that the metrics show a server that is back since `endMs`. */
export async function claimBack(
  context: FaultContext,
  { kubedns, api }: Pick<ApiTestbed, 'kubedns' | 'api'>,
  { endMs, isRelisted }: { readonly endMs: number; readonly isRelisted: boolean },
): Promise<void> {
  const page = await kubedns.metrics();
  const relists = page.sum('kubedns_relists_total', OF_SERVICES);
  context.claim(relists >= Number(isRelisted), `kubedns_relists_total is ${relists}`);
  // A watch that begins late may have to list once more.
  context.claimQuiet(relists === Number(isRelisted), `kubedns_relists_total is ${relists}`);
  const age = page.sum('kubedns_last_event_age_seconds', OF_SERVICES);
  const sinceMs = performance.now() - endMs;
  context.claim(age * 1_000 <= sinceMs, `kubedns_last_event_age_seconds is ${age} afterwards`);
  const objects = page.sum('kubedns_objects', OF_SERVICES);
  const services = api.list('Service').length;
  context.claim(objects === services, `kubedns_objects is ${objects}, not ${services}`);
}
