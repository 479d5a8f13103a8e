import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { Kubedns } from '../stand/kubedns.js';
import { type Seen, SteadyClient } from '../stand/steady-client.js';
import { ApiFront } from './api-front.js';
import type { FaultBed } from './fault.js';
import { fillCluster, serviceAddress, serviceName } from './small-cluster.js';

/** Services that the cluster has from the start. */
export const SERVICES = 10;
const RATE_PER_SECOND = 100;
const NAMES = Array.from({ length: SERVICES }, (_, i) => serviceName(i + 1));

/** An API server behind a front, a kubedns that follows it, and a client that asks it all the time. */
export interface ApiStand {
  readonly front: ApiFront;
  readonly kubedns: Kubedns;
  readonly client: SteadyClient;
  /** The server that the front passes to. */
  readonly api: ApiServer;
}

/** An API server with the namespace and so many services. */
export async function startCluster(bed: FaultBed, services = SERVICES): Promise<ApiServer> {
  const api = bed.owned.add(await createApiServer());
  await fillCluster(api, services);
  return api;
}

/** Starts all of it; resolves when every name was answered. */
export async function startApiStand(bed: FaultBed): Promise<ApiStand> {
  const api = await startCluster(bed);
  const front = bed.owned.add(await ApiFront.start(api.port));
  const kubedns = bed.owned.add(
    await Kubedns.start({ ...bed, flags: [`--kube-master-url=${front.url}`] }),
  );
  await kubedns.ready();
  const client = await startClient(bed, kubedns.dnsPort);
  return { front, kubedns, client, api };
}

/** A client that asks for the address of every service, in turn. */
export async function startClient(bed: FaultBed, port: number): Promise<SteadyClient> {
  const questions = { port, names: NAMES, ratePerSecond: RATE_PER_SECOND };
  return bed.owned.add(await SteadyClient.start(questions));
}

/**
 * Ends the client, and claims that each of its answers is among those that are right: the address that
 * the service had from the start, or one of those that `also` has for its name.
 */
export async function claimRight(
  bed: FaultBed,
  client: SteadyClient,
  also: Readonly<Record<string, readonly string[]>> = {},
): Promise<void> {
  const isRight = ({ name, text }: Seen) => {
    return text === firstAddress(name) || also[name]?.includes(text) === true;
  };
  const seen = await client.finish();
  const wrong = seen.filter((one) => !isRight(one));
  const [first] = wrong;
  const example = first && `${first.name}: ${first.text}`;
  bed.claim(wrong.length === 0, `${wrong.length} of ${seen.length} answers are wrong: ${example}`);
}

function firstAddress(name: string): string {
  return serviceAddress(NAMES.indexOf(name) + 1);
}
