import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { type Kubedns, until } from '@kube-dns/testkit';
import { startKubedns } from '../fixtures/pod-containers.js';
import { type Seen, SteadyClient } from '../fixtures/steady-client.js';
import { ApiFront } from './api-front.js';
import type { FaultContext } from './fault.js';
import { fillCluster, rightTexts, serviceName } from './small-cluster.js';

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
export async function startCluster(context: FaultContext, services = SERVICES): Promise<ApiServer> {
  const api = context.owned.add(await createApiServer());
  await fillCluster(api, services);
  return api;
}

/** Starts all of it; resolves when kubedns is ready and the client asks. */
export async function startApiTestbed(
  context: FaultContext,
  services = SERVICES,
): Promise<ApiTestbed> {
  const api = await startCluster(context, services);
  const front = context.owned.add(await ApiFront.start(api.port));
  const kubedns = await startFollower(context, front);
  await awaitWatches(kubedns, api);
  return { front, kubedns, api, client: await startClient(context, kubedns, services) };
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
  services = SERVICES,
): Promise<SteadyClient> {
  const names = [...rightTexts(services).keys()];
  const pages = [`http://127.0.0.1:${metrics}`];
  return context.owned.add(
    await SteadyClient.start({ port, names, pages, ratePerSecond: RATE_PER_SECOND }, context.signs),
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
export interface AlsoRight {
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
