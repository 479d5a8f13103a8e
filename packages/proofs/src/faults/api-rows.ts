import { setTimeout as delay } from 'node:timers/promises';
import { claimRight, startApiStand, startCluster } from './api-stand.js';
import type { Fault, FaultBed } from './fault.js';
import { deleteService, moveService, serviceName } from './small-cluster.js';

const OUTAGE_MS = 1_500;
const PATIENCE_MS = 30_000;
/** An address that no service has from the start. */
const NEW_ADDRESS = '10.96.200.1';

async function loseServer(bed: FaultBed): Promise<number> {
  const { api, front, kubedns, client } = await startApiStand(bed);
  await front.close();
  await api.close();
  await delay(OUTAGE_MS);
  const page = await kubedns.metrics();
  bed.claim((await kubedns.readiness()) === 200, 'readiness is not 200 meanwhile');
  bed.claim(page.sum('kubedns_ready') === 1, 'kubedns_ready is not 1 meanwhile');
  const age = page.sum('kubedns_last_event_age_seconds', { resource: 'services' });
  bed.claim(age >= OUTAGE_MS / 2_000, `kubedns_last_event_age_seconds is ${age}`);
  const restarts = page.sum('kubedns_watch_restarts_total', { resource: 'services' });
  bed.claim(restarts > 0, `kubedns_watch_restarts_total is ${restarts}`);

  // A server that was started anew has other versions, so everything is listed again.
  const next = await startCluster(bed);
  await moveService(next, 1, NEW_ADDRESS);
  deleteService(next, 2);
  front.target = next.port;
  const backMs = performance.now();
  await front.open();
  const [changedMs, deletedMs] = await Promise.all([
    client.awaitText(serviceName(1), NEW_ADDRESS, PATIENCE_MS),
    client.awaitText(serviceName(2), 'NXDOMAIN', PATIENCE_MS),
  ]);
  const relists = (await kubedns.metrics()).sum('kubedns_relists_total', { resource: 'services' });
  bed.claim(relists === 1, `kubedns_relists_total is ${relists}`);
  await claimRight(bed, client, {
    [serviceName(1)]: [NEW_ADDRESS],
    [serviceName(2)]: ['NXDOMAIN'],
  });
  return Math.max(changedMs, deletedMs) - backMs;
}

/** Faults of the Kubernetes API, as clients of kubedns see them. */
export const API_ROWS: readonly Fault[] = [
  {
    id: 'api-gone',
    happens: 'The API server ends, and another one starts in its place',
    clients: 'Right answers, as of the last contact',
    duration: 'Until it is back, and up to 30 s more for what changed meanwhile',
    limitMs: 6_000,
    metrics:
      '`/readiness` stays 200, `kubedns_ready` 1; `kubedns_last_event_age_seconds` and `kubedns_watch_restarts_total` grow; then `kubedns_relists_total` grows by 1',
    run: loseServer,
  },
];
