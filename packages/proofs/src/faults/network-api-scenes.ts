import { setTimeout as delay } from 'node:timers/promises';
import { type MetricPage, monotonicMs } from '@kube-dns/testkit';
import { PLAIN } from '../stand/relay-manner.js';
import { claimServing } from './api-outage.js';
import { claimRight } from './api-stand.js';
import { API_PORT } from './far-servers.js';
import type { FaultBed } from './fault.js';
import { CHANGED, NETWORK_SERVICES, NetworkBed } from './network-bed.js';

/** For how long a change is waited for. */
const PATIENCE_MS = 60_000;
/** Other changes are under way for so long. */
const LOSS_MS = 2_000;
const LOST_SHARE = 0.2;
/** What the relay adds on the way there, and on the way back. */
const DELAY_MS = 200;
/** Between a question and the moment at which it is answered. */
const ASKED_BEFORE_MS = 50;
const RESTARTS = 'kubedns_watch_restarts_total';

function startBed(bed: FaultBed): Promise<NetworkBed> {
  return NetworkBed.start(bed, { containers: ['kubedns'] });
}

function claimNoRestart(bed: FaultBed, page: MetricPage): void {
  const restarts = page.sum(RESTARTS);
  bed.claim(!(restarts > 0), `${RESTARTS} is ${restarts}`);
}

async function claimChange(bed: FaultBed, stand: NetworkBed): Promise<void> {
  const after = Object.fromEntries(CHANGED.map(([name, text]) => [name, [text]]));
  await claimRight(bed, stand, { after, services: NETWORK_SERVICES });
}

/** A fifth of all packets is lost. Resolves to the ms after which a change shows. */
export async function loseApiPackets(bed: FaultBed): Promise<number> {
  const stand = await startBed(bed);
  const traffic = { protocol: 'tcp', ports: String(API_PORT) } as const;
  await stand.network.lose(['pod', 'servers'], traffic, LOST_SHARE);
  const changedMs = monotonicMs();
  const change = async () => {
    await stand.servers.call('changeCluster');
    return stand.changesShown(PATIENCE_MS);
  };
  const [shownMs] = await Promise.all([change(), stand.servers.call('churn', LOSS_MS)]);
  claimNoRestart(bed, await claimServing(bed, stand, 0));
  bed.claim((await stand.network.lost()) > 0, 'no packet was lost');
  await stand.network.loseNothing();
  await claimChange(bed, stand);
  return shownMs - changedMs;
}

/** Everything takes longer. Resolves to the ms after which a change shows. */
export async function delayApi(bed: FaultBed): Promise<number> {
  const stand = await startBed(bed);
  await stand.servers.call('setManner', { ...PLAIN, delayMs: DELAY_MS });
  const changedMs = monotonicMs();
  await stand.servers.call('changeCluster');
  const tookMs = (await stand.changesShown(PATIENCE_MS)) - changedMs;
  const early = `a change showed after ${Math.round(tookMs)} ms: nothing was delayed`;
  bed.claim(tookMs >= DELAY_MS - ASKED_BEFORE_MS, early);
  claimNoRestart(bed, await claimServing(bed, stand, 0));
  await claimChange(bed, stand);
  return tookMs;
}

/** The link is down for so long. Resolves to the ms after which a change shows once it is up. */
export function cutApi(forMs: number, isNoticed: boolean): (bed: FaultBed) => Promise<number> {
  return async (bed) => {
    const stand = await startBed(bed);
    await stand.network.cut('servers');
    await stand.servers.call('changeCluster');
    const cutMs = monotonicMs();
    await delay(forMs);
    const page = await claimServing(bed, stand, (monotonicMs() - cutMs) * 0.9);
    if (isNoticed) {
      const restarts = page.sum(RESTARTS, { resource: 'services', reason: 'idle' });
      bed.claim(restarts > 0, `${RESTARTS} of idle is ${restarts}`);
    } else claimNoRestart(bed, page);
    const upMs = monotonicMs();
    await stand.network.join('servers');
    const shownMs = await stand.changesShown(PATIENCE_MS);
    const age = (await stand.kubedns.metrics()).sum('kubedns_last_event_age_seconds', {
      resource: 'services',
    });
    const sinceMs = monotonicMs() - upMs;
    bed.claim(age * 1_000 <= sinceMs, `kubedns_last_event_age_seconds is ${age} afterwards`);
    await claimChange(bed, stand);
    return shownMs - upMs;
  };
}
