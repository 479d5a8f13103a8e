import { setTimeout as delay } from 'node:timers/promises';
import { type MetricPage, monotonicMs } from '@kube-dns/testkit';
import { PLAIN } from '../fixtures/relay-mode.js';
import { claimServing } from './api-outage.js';
import { claimRight } from './api-testbed.js';
import { API_PORT } from './far-servers.js';
import type { FaultContext } from './fault.js';
import { CHANGED, NETWORK_SERVICES, NetworkTestbed } from './network-testbed.js';

/** For how long a change is waited for. */
const WAIT_LIMIT_MS = 60_000;
/** How long other changes are made. */
const LOSS_MS = 2_000;
const LOST_SHARE = 0.2;
/** What the relay adds in each direction. */
const DELAY_MS = 200;
/** Between a question and the moment at which it is answered. */
const ASKED_BEFORE_MS = 50;
const RESTARTS = 'kubedns_watch_restarts_total';

function startTestbed(context: FaultContext): Promise<NetworkTestbed> {
  return NetworkTestbed.start(context, { containers: ['kubedns'] });
}

function claimNoRestart(context: FaultContext, page: MetricPage): void {
  const restarts = page.sum(RESTARTS);
  context.claim(!(restarts > 0), `${RESTARTS} is ${restarts}`);
}

async function claimChange(context: FaultContext, testbed: NetworkTestbed): Promise<void> {
  const after = Object.fromEntries(CHANGED.map(([name, text]) => [name, [text]]));
  await claimRight(context, testbed, { after, services: NETWORK_SERVICES });
}

/** A fifth of all packets is lost. Resolves to the ms after which a change shows. */
export async function loseApiPackets(context: FaultContext): Promise<number> {
  const testbed = await startTestbed(context);
  const traffic = { protocol: 'tcp', ports: String(API_PORT) } as const;
  await testbed.network.lose(['pod', 'servers'], traffic, LOST_SHARE);
  const changedMs = monotonicMs();
  const change = async () => {
    await testbed.servers.call('changeCluster');
    return testbed.changesShown(WAIT_LIMIT_MS);
  };
  const [shownMs] = await Promise.all([change(), testbed.servers.call('churn', LOSS_MS)]);
  claimNoRestart(context, await claimServing(context, testbed, 0));
  context.claim((await testbed.network.lost()) > 0, 'no packet was lost');
  await testbed.network.loseNothing();
  await claimChange(context, testbed);
  return shownMs - changedMs;
}

/** Everything takes longer. Resolves to the ms after which a change shows. */
export async function delayApi(context: FaultContext): Promise<number> {
  const testbed = await startTestbed(context);
  await testbed.servers.call('setMode', { ...PLAIN, delayMs: DELAY_MS });
  const changedMs = monotonicMs();
  await testbed.servers.call('changeCluster');
  const tookMs = (await testbed.changesShown(WAIT_LIMIT_MS)) - changedMs;
  const early = `a change showed after ${Math.round(tookMs)} ms: nothing was delayed`;
  context.claim(tookMs >= DELAY_MS - ASKED_BEFORE_MS, early);
  claimNoRestart(context, await claimServing(context, testbed, 0));
  await claimChange(context, testbed);
  return tookMs;
}

/** The link is down for this long. Resolves to the ms from its return until a change is visible. */
export function cutApi(
  forMs: number,
  isNoticed: boolean,
): (context: FaultContext) => Promise<number> {
  return async (context) => {
    const testbed = await startTestbed(context);
    await testbed.network.cut('servers');
    await testbed.servers.call('changeCluster');
    const cutMs = monotonicMs();
    await delay(forMs);
    const page = await claimServing(context, testbed, (monotonicMs() - cutMs) * 0.9);
    if (isNoticed) {
      const restarts = page.sum(RESTARTS, { resource: 'services', reason: 'idle' });
      context.claim(restarts > 0, `${RESTARTS} of idle is ${restarts}`);
    } else claimNoRestart(context, page);
    const upMs = monotonicMs();
    await testbed.network.join('servers');
    const shownMs = await testbed.changesShown(WAIT_LIMIT_MS);
    const age = (await testbed.kubedns.metrics()).sum('kubedns_last_event_age_seconds', {
      resource: 'services',
    });
    const sinceMs = monotonicMs() - upMs;
    context.claim(age * 1_000 <= sinceMs, `kubedns_last_event_age_seconds is ${age} afterwards`);
    await claimChange(context, testbed);
    return shownMs - upMs;
  };
}
