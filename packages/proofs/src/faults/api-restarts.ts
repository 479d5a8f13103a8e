import { setTimeout as delay } from 'node:timers/promises';
import { until } from '@kube-dns/testkit';
import { claimBack, claimServing, runOutage } from './api-outage.js';
import {
  type ApiTestbed,
  claimRight,
  SERVICES,
  startApiTestbed,
  WAIT_LIMIT_MS,
} from './api-testbed.js';
import type { FaultContext } from './fault.js';
import { addServices, rightTexts } from './small-cluster.js';

const OUTAGE_MS = 1_500;
/** As between two restarts of a server that is upgraded, and of the one beside it. */
const BETWEEN_MS = 12_000;
/** What is written after the backup, so that the versions that kubedns knows are far above those of the backup. */
const LOST_SERVICES = 40;
/** A watch of each resource. */
const REFUSED_WATCHES = 3;

/** Services are written after a backup, and known to kubedns; then the backup is all that there is. */
async function loseWrites({ api, front, kubedns }: ApiTestbed): Promise<void> {
  api.backup();
  await addServices(api, SERVICES, LOST_SERVICES);
  const services = api.list('Service').length;
  await until('the services after the backup', async () => {
    const page = await kubedns.metrics();
    return page.sum('kubedns_objects', { resource: 'services' }) === services;
  });
  await front.close();
  await api.restart({ data: 'backup' });
}

/** Changes of the restored cluster have versions that were others' before. */
export const restoreBackup = runOutage({
  begin: loseWrites,
  end: ({ front }) => front.open(),
  reasons: ['error'],
  isRelisted: true,
});

/** The server begins anew, with no more than a fresh cluster has. */
export async function emptyCluster(context: FaultContext): Promise<number> {
  const testbed = await startApiTestbed(context);
  const { api, front, client } = testbed;
  await front.close();
  await api.restart({ data: 'empty' });
  await delay(OUTAGE_MS);
  await claimServing(context, testbed, OUTAGE_MS * 0.9);
  await context.signs.seen();
  const backMs = performance.now();
  await front.open();
  const names = [...rightTexts(SERVICES).keys()];
  const shown = names.map((name) => client.awaitText(name, 'NXDOMAIN', WAIT_LIMIT_MS));
  const shownMs = Math.max(...(await Promise.all(shown)));
  await claimBack(context, testbed, { endMs: backMs, isRelisted: true });
  // The slices of a service go one after the other.
  const after = Object.fromEntries(names.map((name) => [name, ['NXDOMAIN']]));
  await claimRight(context, client, { after });
  return shownMs - backMs;
}

/** Twice within seconds; after the second the server does not know what came before, and its cache is not filled yet. */
export const restartTwice = runOutage({
  begin: async ({ api, front }) => {
    await api.restart({ downMs: OUTAGE_MS });
    await delay(BETWEEN_MS);
    await front.close();
  },
  end: async ({ api, front }) => {
    await api.restart({ hasHistory: false, refusedWatches: REFUSED_WATCHES });
    await front.open();
  },
  reasons: ['error'],
  isRelisted: true,
});
