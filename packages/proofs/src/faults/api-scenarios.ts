import { setTimeout as delay } from 'node:timers/promises';
import { becomesTrue, median, messageOf } from '@kube-dns/testkit';
import { SteadyClient } from '../fixtures/steady-client.js';
import { ApiFront } from './api-front.js';
import { awaitRestart, claimBack, claimServing } from './api-outage.js';
import {
  awaitChanges,
  CHANGED,
  claimRight,
  NEW_ADDRESS,
  WAIT_LIMIT_MS,
  SERVICES,
  startApiTestbed,
  startClient,
  startCluster,
  startFollower,
} from './api-testbed.js';
import type { FaultContext } from './fault.js';
import {
  deleteService,
  EMPTY_NAMESPACE_NAME,
  HEADLESS_NAME,
  moveService,
  POD_ADDRESSES,
  rightTexts,
  scaleHeadless,
  serviceName,
} from './small-cluster.js';

const OUTAGE_MS = 1_500;
const BREAKS = 20;
const BREAK_INTERVAL_MS = 1_000;
const STEP_MS = 20;

/** No API server is there when kubedns starts. */
export async function startWithoutServer(context: FaultContext): Promise<number> {
  const api = await startCluster(context);
  const front = context.owned.add(await ApiFront.start(api.port));
  await front.close();
  const kubedns = await startFollower(context, front);
  const hasty = await startFollower(context, front, '--initial-sync-timeout=1s');
  await kubedns.ready(WAIT_LIMIT_MS, 503);
  const client = await startClient(context, kubedns);
  await delay(OUTAGE_MS);
  const page = await kubedns.metrics();
  context.claim(page.sum('kubedns_ready') === 0, 'kubedns_ready is not 0 before');
  const failed = page.sum('skydns_skydns_dns_error_count_total', { cause: 'servfail' });
  context.claim(failed > 0, `skydns_skydns_dns_error_count_total of servfail is ${failed}`);
  context.claim((await kubedns.readiness()) === 503, 'readiness is not 503 before');
  const ended = () => {
    try {
      hasty.server.check();
      return false;
    } catch (error) {
      return messageOf(error).includes('ended with 255');
    }
  };
  const hasEnded = await becomesTrue(ended, { limitMs: WAIT_LIMIT_MS, stepMs: STEP_MS });
  context.claim(hasEnded, 'with --initial-sync-timeout it did not end with 255');
  await context.signs.seen();

  const backMs = performance.now();
  await front.open();
  const texts = [...rightTexts(SERVICES)];
  const shown = texts.map(([name, text]) => client.awaitText(name, text, WAIT_LIMIT_MS));
  const shownMs = Math.max(...(await Promise.all(shown)));
  await kubedns.ready();
  context.claim(
    (await kubedns.metrics()).sum('kubedns_ready') === 1,
    'kubedns_ready is not 1 after',
  );
  await claimRight(context, client, {
    // Readiness does not wait for the namespaces, where these failed several times.
    before: (name) => ['SERVFAIL', ...(name === EMPTY_NAMESPACE_NAME ? ['NXDOMAIN'] : [])],
  });
  return shownMs - backMs;
}

/** The server ends; another one, which has later versions of its own, replaces it. */
export async function replaceServer(context: FaultContext): Promise<number> {
  const testbed = await startApiTestbed(context);
  const { api, front, client } = testbed;
  await front.close();
  await api.close();
  await delay(OUTAGE_MS);
  await awaitRestart(testbed, ['error', 'closed']);
  const page = await claimServing(context, testbed, OUTAGE_MS * 0.9);
  const restarts = page.sum('kubedns_watch_restarts_total', { resource: 'services' });
  context.claim(restarts > 0, `kubedns_watch_restarts_total is ${restarts}`);
  await context.signs.seen();
  const next = await startCluster(context);
  await moveService(next, 1, NEW_ADDRESS);
  deleteService(next, 2);
  // As a real one, it has no history from before its start.
  next.compact({ cache: true });
  front.target = next.port;
  const backMs = performance.now();
  await front.open();
  const shownMs = await awaitChanges(client);
  await claimBack(context, { ...testbed, api: next }, { endMs: backMs, isRelisted: true });
  await claimRight(context, client, { after: CHANGED });
  return shownMs - backMs;
}

/** Each request takes two seconds. */
export async function slowServer(context: FaultContext): Promise<number> {
  const slowMs = 2_000;
  const testbed = await startApiTestbed(context);
  const { api, client } = testbed;
  api.delayRequests(slowMs);
  // A watch that is open is as fast as ever.
  await scaleHeadless(api, 3);
  const openMs = performance.now();
  const three = POD_ADDRESSES.slice(0, 3).join(',');
  const tookMs = (await client.awaitText(HEADLESS_NAME, three, WAIT_LIMIT_MS)) - openMs;
  context.claimQuiet(tookMs < slowMs, `a change took ${tookMs} ms on a watch that was open`);
  api.dropWatches();
  await moveService(api, 1, NEW_ADDRESS);
  deleteService(api, 2);
  const changedMs = performance.now();
  const shownMs = await awaitChanges(client);
  await claimBack(context, testbed, { endMs: changedMs, isRelisted: false });
  await claimRight(context, client, { after: { ...CHANGED, [HEADLESS_NAME]: [three] } });
  return shownMs - changedMs;
}

/** The server is there every other second. */
export async function flappingServer(context: FaultContext): Promise<number> {
  const testbed = await startApiTestbed(context);
  const { api, front, client } = testbed;
  const flapping = new AbortController();
  context.owned.add({
    close: () => {
      flapping.abort();
      return Promise.resolve();
    },
  });
  const flaps = (async () => {
    while (!flapping.signal.aborted) {
      await front.close();
      await delay(1_000);
      await front.open();
      await delay(1_000);
    }
  })();
  await moveService(api, 1, NEW_ADDRESS);
  deleteService(api, 2);
  const changedMs = performance.now();
  const shownMs = await awaitChanges(client);
  await claimServing(context, testbed, 0);
  flapping.abort();
  await flaps;
  await claimRight(context, client, { after: CHANGED });
  return shownMs - changedMs;
}

/** Every connection breaks, again and again; each time something changes meanwhile. */
export async function breakingConnections(context: FaultContext): Promise<number> {
  const api = await startCluster(context);
  const front = context.owned.add(await ApiFront.start(api.port));
  const kubedns = await startFollower(context, front);
  await kubedns.ready();
  const name = serviceName(1);
  const client = context.owned.add(
    await SteadyClient.start(
      {
        port: kubedns.ports.dns,
        names: [name],
        ratePerSecond: 100,
        pages: [`http://127.0.0.1:${kubedns.ports.metrics}`],
      },
      context.signs,
    ),
  );
  const known = new Set(['NXDOMAIN', rightTexts(SERVICES).get(name)]);
  const shownMs: number[] = [];
  for (let round = 1; round <= BREAKS; round++) {
    await delay(BREAK_INTERVAL_MS);
    const address = `10.96.200.${round}`;
    known.add(address);
    front.cut();
    await moveService(api, 1, address);
    const changedMs = performance.now();
    shownMs.push((await client.awaitText(name, address, WAIT_LIMIT_MS)) - changedMs);
  }
  const middleMs = median(shownMs);
  context.claimQuiet(middleMs <= 50, `a change is served after ${Math.round(middleMs)} ms`);
  const page = await claimServing(context, { kubedns }, 0);
  const closed = page.sum('kubedns_watch_restarts_total', {
    resource: 'services',
    reason: 'closed',
  });
  context.claim(closed >= BREAKS, `kubedns_watch_restarts_total of closed is ${closed}`);
  const wrong = (await client.finish()).filter(({ text }) => !known.has(text));
  context.claim(wrong.length === 0, `${wrong.length} answers are wrong: ${wrong[0]?.text ?? ''}`);
  return Math.max(...shownMs);
}

/** Half of everything goes while there is no connection, and the server no longer knows of it. */
export async function relistHalf(context: FaultContext): Promise<number> {
  const services = 40;
  const testbed = await startApiTestbed(context, services);
  const { api, front, client } = testbed;
  const recordsBefore = (await testbed.kubedns.metrics()).sum('kubedns_records', { type: 'A' });
  await front.close();
  const gone: Record<string, readonly string[]> = {};
  for (let number = 2; number <= services; number += 2) {
    deleteService(api, number);
    gone[serviceName(number)] = ['NXDOMAIN'];
  }
  await scaleHeadless(api, 2);
  await moveService(api, 1, NEW_ADDRESS);
  api.compact({ cache: true });
  await delay(OUTAGE_MS);
  await claimServing(context, testbed, OUTAGE_MS * 0.9);
  await context.signs.seen();
  const backMs = performance.now();
  await front.open();
  const rest = POD_ADDRESSES.slice(0, 2).join(',');
  const shown = [
    client.awaitText(serviceName(1), NEW_ADDRESS, WAIT_LIMIT_MS),
    client.awaitText(HEADLESS_NAME, rest, WAIT_LIMIT_MS),
    ...Object.keys(gone).map((name) => client.awaitText(name, 'NXDOMAIN', WAIT_LIMIT_MS)),
  ];
  const shownMs = Math.max(...(await Promise.all(shown)));
  await claimBack(context, testbed, { endMs: backMs, isRelisted: true });
  const recordsAfter = (await testbed.kubedns.metrics()).sum('kubedns_records', { type: 'A' });
  const fewer = recordsBefore - recordsAfter;
  context.claim(fewer === services / 2 + 2, `kubedns_records of A fell by ${fewer}`);
  // The slices of a service go one after the other.
  const three = [
    [0, 1, 2],
    [0, 1, 3],
  ].map((left) => left.map((i) => POD_ADDRESSES[i]).join(','));
  const after = { ...gone, [serviceName(1)]: [NEW_ADDRESS], [HEADLESS_NAME]: [...three, rest] };
  await claimRight(context, client, { after, services });
  return shownMs - backMs;
}
