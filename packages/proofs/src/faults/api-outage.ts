import { setTimeout as delay } from 'node:timers/promises';
import { becomesTrue, type Kubedns, type MetricPage } from '@kube-dns/testkit';
import {
  type ApiTestbed,
  awaitChanges,
  CHANGED,
  claimRight,
  NEW_ADDRESS,
  WAIT_LIMIT_MS,
  startApiTestbed,
} from './api-testbed.js';
import type { FaultContext } from './fault.js';
import { deleteService, moveService } from './small-cluster.js';

/** A time in which the API server is not usable. */
export interface Outage {
  /** Resolves when it has lasted long enough, after 1.5 s unless given. */
  readonly lasts?: (testbed: ApiTestbed) => Promise<void>;
  readonly begin: (testbed: ApiTestbed) => void | Promise<void>;
  readonly end: (testbed: ApiTestbed) => void | Promise<void>;
  /** Why watches had to begin anew, as `kubedns_watch_restarts_total` tells; none when they go on. */
  readonly reasons: readonly string[];
  /** Whether everything is listed again afterwards. */
  readonly isRelisted?: boolean;
  /** Other right answers for names, in addition to the changes. */
  readonly also?: Readonly<Record<string, readonly string[]>>;
  /** Further claims, at the end of the outage. */
  readonly meanwhile?: (context: FaultContext, testbed: ApiTestbed, lastedMs: number) => void;
}

const LASTS_MS = 1_500;
const STEP_MS = 20;
const SERVICES = { resource: 'services' };

function restarts(page: MetricPage, reasons: readonly string[]): number {
  return reasons.reduce((sum, reason) => {
    return sum + page.sum('kubedns_watch_restarts_total', { ...SERVICES, reason });
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
  const age = page.sum('kubedns_last_event_age_seconds', SERVICES);
  context.claimQuiet(age * 1_000 >= silentMs, `kubedns_last_event_age_seconds is ${age} meanwhile`);
  const errors = page.sum('kubedns_unexpected_errors_total');
  context.claim(errors === 0, `kubedns_unexpected_errors_total is ${errors}`);
  return page;
}

/**
 * Changes the cluster while the server is of no use. Resolves to the ms for which clients saw the old
 * state after it was of use again; until then that is all that anybody can know.
 */
export function runOutage(outage: Outage): (context: FaultContext) => Promise<number> {
  const { lasts = () => delay(LASTS_MS), reasons } = outage;
  return async (context) => {
    const testbed = await startApiTestbed(context);
    await outage.begin(testbed);
    await moveService(testbed.api, 1, NEW_ADDRESS);
    deleteService(testbed.api, 2);
    const beginMs = performance.now();
    await lasts(testbed);
    await awaitRestart(testbed, reasons);
    const during = await claimServing(context, testbed, (performance.now() - beginMs) * 0.9);
    const counted = restarts(during, reasons);
    const name = `kubedns_watch_restarts_total of ${reasons.join(', ')}`;
    context.claim(counted > 0 || reasons.length === 0, `${name} is ${counted} meanwhile`);
    outage.meanwhile?.(context, testbed, performance.now() - beginMs);
    await context.signs.seen();
    const endMs = performance.now();
    await outage.end(testbed);
    const shownMs = await awaitChanges(testbed.client);
    await claimBack(context, testbed, { endMs, isRelisted: outage.isRelisted === true });
    await claimRight(context, testbed.client, { after: { ...CHANGED, ...outage.also } });
    return shownMs - endMs;
  };
}

/** Claims that the metrics show a server that is back since `endMs`. */
export async function claimBack(
  context: FaultContext,
  { kubedns, api }: Pick<ApiTestbed, 'kubedns' | 'api'>,
  { endMs, isRelisted }: { readonly endMs: number; readonly isRelisted: boolean },
): Promise<void> {
  const page = await kubedns.metrics();
  const relists = page.sum('kubedns_relists_total', SERVICES);
  context.claim(relists === Number(isRelisted), `kubedns_relists_total is ${relists}`);
  const age = page.sum('kubedns_last_event_age_seconds', SERVICES);
  const sinceMs = performance.now() - endMs;
  context.claim(age * 1_000 <= sinceMs, `kubedns_last_event_age_seconds is ${age} afterwards`);
  const objects = page.sum('kubedns_objects', SERVICES);
  const services = api.list('Service').length;
  context.claim(objects === services, `kubedns_objects is ${objects}, not ${services}`);
}
