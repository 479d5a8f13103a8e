import { setTimeout as delay } from 'node:timers/promises';
import { comesTrue, messageOf } from '@kube-dns/testkit';
import { ApiFront } from './api-front.js';
import { awaitRestart, claimBack, claimServing } from './api-outage.js';
import {
  awaitChanges,
  CHANGED,
  claimRight,
  NEW_ADDRESS,
  PATIENCE_MS,
  SERVICES,
  startApiStand,
  startClient,
  startCluster,
  startFollower,
} from './api-stand.js';
import type { FaultBed } from './fault.js';
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
const STEP_MS = 20;

/** Nobody is there when kubedns starts. */
export async function startWithoutServer(bed: FaultBed): Promise<number> {
  const api = await startCluster(bed);
  const front = bed.owned.add(await ApiFront.start(api.port));
  await front.close();
  const kubedns = await startFollower(bed, front);
  const hasty = await startFollower(bed, front, '--initial-sync-timeout=1s');
  await kubedns.ready(PATIENCE_MS, 503);
  const client = await startClient(bed, kubedns);
  await delay(OUTAGE_MS);
  const page = await kubedns.metrics();
  bed.claim(page.sum('kubedns_ready') === 0, 'kubedns_ready is not 0 before');
  const failed = page.sum('skydns_skydns_dns_error_count_total', { cause: 'servfail' });
  bed.claim(failed > 0, `skydns_skydns_dns_error_count_total of servfail is ${failed}`);
  bed.claim((await kubedns.readiness()) === 503, 'readiness is not 503 before');
  const ended = () => {
    try {
      hasty.server.check();
      return false;
    } catch (error) {
      return messageOf(error).includes('ended with 255');
    }
  };
  const hasEnded = await comesTrue(ended, { limitMs: PATIENCE_MS, stepMs: STEP_MS });
  bed.claim(hasEnded, 'with --initial-sync-timeout it did not end with 255');

  const backMs = performance.now();
  await front.open();
  const texts = [...rightTexts(SERVICES)];
  const shown = texts.map(([name, text]) => client.awaitText(name, text, PATIENCE_MS));
  const shownMs = Math.max(...(await Promise.all(shown)));
  await kubedns.ready();
  bed.claim((await kubedns.metrics()).sum('kubedns_ready') === 1, 'kubedns_ready is not 1 after');
  await claimRight(bed, client, {
    // Readiness does not wait for the namespaces, where these failed three times.
    before: (name) => ['SERVFAIL', ...(name === EMPTY_NAMESPACE_NAME ? ['NXDOMAIN'] : [])],
  });
  return shownMs - backMs;
}

/** The server ends; another one, with versions of its own, takes its place. */
export async function replaceServer(bed: FaultBed): Promise<number> {
  const stand = await startApiStand(bed);
  const { api, front, client } = stand;
  await front.close();
  await api.close();
  await delay(OUTAGE_MS);
  await awaitRestart(stand, ['error', 'closed']);
  const page = await claimServing(bed, stand, OUTAGE_MS * 0.9);
  const restarts = page.sum('kubedns_watch_restarts_total', { resource: 'services' });
  bed.claim(restarts > 0, `kubedns_watch_restarts_total is ${restarts}`);
  const next = await startCluster(bed);
  await moveService(next, 1, NEW_ADDRESS);
  deleteService(next, 2);
  front.target = next.port;
  const backMs = performance.now();
  await front.open();
  const shownMs = await awaitChanges(client);
  await claimBack(bed, { ...stand, api: next }, { endMs: backMs, isRelisted: true });
  await claimRight(bed, client, { after: CHANGED });
  return shownMs - backMs;
}

/** Each request takes two seconds. */
export async function slowServer(bed: FaultBed): Promise<number> {
  const slowMs = 2_000;
  const stand = await startApiStand(bed);
  const { api, client } = stand;
  api.delayRequests(slowMs);
  // A watch that is open is as fast as ever.
  await scaleHeadless(api, 3);
  const openMs = performance.now();
  const three = POD_ADDRESSES.slice(0, 3).join(',');
  const tookMs = (await client.awaitText(HEADLESS_NAME, three, PATIENCE_MS)) - openMs;
  bed.claim(tookMs < slowMs, `a change took ${tookMs} ms on a watch that was open`);
  api.dropWatches();
  await moveService(api, 1, NEW_ADDRESS);
  deleteService(api, 2);
  const changedMs = performance.now();
  const shownMs = await awaitChanges(client);
  await claimBack(bed, stand, { endMs: changedMs, isRelisted: false });
  await claimRight(bed, client, { after: { ...CHANGED, [HEADLESS_NAME]: [three] } });
  return shownMs - changedMs;
}

/** The server is there every other second. */
export async function flappingServer(bed: FaultBed): Promise<number> {
  const stand = await startApiStand(bed);
  const { api, front, client } = stand;
  const flapping = new AbortController();
  bed.owned.add({
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
  await claimServing(bed, stand, 0);
  flapping.abort();
  await flaps;
  await claimRight(bed, client, { after: CHANGED });
  return shownMs - changedMs;
}

/** Half of everything goes while there is no connection, and the server no longer knows of it. */
export async function relistHalf(bed: FaultBed): Promise<number> {
  const services = 40;
  const stand = await startApiStand(bed, services);
  const { api, front, client } = stand;
  const recordsBefore = (await stand.kubedns.metrics()).sum('kubedns_records', { type: 'A' });
  await front.close();
  const gone: Record<string, readonly string[]> = {};
  for (let number = 2; number <= services; number += 2) {
    deleteService(api, number);
    gone[serviceName(number)] = ['NXDOMAIN'];
  }
  await scaleHeadless(api, 2);
  await moveService(api, 1, NEW_ADDRESS);
  api.compact();
  await delay(OUTAGE_MS);
  await claimServing(bed, stand, OUTAGE_MS * 0.9);
  const backMs = performance.now();
  await front.open();
  const rest = POD_ADDRESSES.slice(0, 2).join(',');
  const shown = [
    client.awaitText(serviceName(1), NEW_ADDRESS, PATIENCE_MS),
    client.awaitText(HEADLESS_NAME, rest, PATIENCE_MS),
    ...Object.keys(gone).map((name) => client.awaitText(name, 'NXDOMAIN', PATIENCE_MS)),
  ];
  const shownMs = Math.max(...(await Promise.all(shown)));
  await claimBack(bed, stand, { endMs: backMs, isRelisted: true });
  const recordsAfter = (await stand.kubedns.metrics()).sum('kubedns_records', { type: 'A' });
  const fewer = recordsBefore - recordsAfter;
  bed.claim(fewer === services / 2 + 2, `kubedns_records of A fell by ${fewer}`);
  // The slices of a service go one after the other.
  const three = [
    [0, 1, 2],
    [0, 1, 3],
  ].map((left) => left.map((i) => POD_ADDRESSES[i]).join(','));
  const after = { ...gone, [serviceName(1)]: [NEW_ADDRESS], [HEADLESS_NAME]: [...three, rest] };
  await claimRight(bed, client, { after, services });
  return shownMs - backMs;
}
