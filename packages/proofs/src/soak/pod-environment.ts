import { type Owned, Remote } from '@kube-dns/testkit';
import type { CheckingClientMethods } from './checking-client.js';
import type { SchedulePlan, WorldServer } from './cluster-state.js';
import type { SoakClusterMethods } from './soak-cluster.js';
import type { WorldMethods } from './world.js';

/** The environment of a pod: its cluster, and the name servers of the world. */
export interface PodEnvironment {
  readonly cluster: Remote<SoakClusterMethods>;
  readonly apiUrl: string;
  readonly worldPorts: Readonly<Record<WorldServer, number>>;
}

function entry(name: string): URL {
  return new URL(`./${name}`, import.meta.url);
}

/** Starts both, each in its own process. */
export async function startEnvironment(
  owned: Owned,
  plan: Omit<SchedulePlan, 'startMs'>,
): Promise<PodEnvironment> {
  const world = owned.add(new Remote<WorldMethods>('the name servers', entry('world.js#World')));
  const cluster = owned.add(
    new Remote<SoakClusterMethods>('the API server', entry('soak-cluster.js#SoakCluster')),
  );
  const worldPorts = await world.call('start');
  return { cluster, apiUrl: await cluster.call('start', plan), worldPorts };
}

/** The process of the clients; they ask nothing yet. */
export function startCheckingClient(owned: Owned): Remote<CheckingClientMethods> {
  return owned.add(
    new Remote<CheckingClientMethods>('the clients', entry('checking-client.js#CheckingClient')),
  );
}
