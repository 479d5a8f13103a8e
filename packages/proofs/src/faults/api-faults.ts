import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { errorText } from '@kube-dns/base';
import {
  becomesTrue,
  MeasureError,
  median,
  needsNamespaces,
  TemporaryFolder,
  until,
} from '@kube-dns/testkit';
import { EXTENDED_ERROR } from '@kube-dns/wire';
import { startKubedns } from '../fixtures/pod-containers.js';
import { SteadyClient } from '../fixtures/steady-client.js';
import { ApiFront } from '../fixtures/relays.js';
import {
  type ApiTestbed,
  authorityCertificate,
  awaitChanges,
  awaitRestart,
  awaitWatches,
  CHANGED,
  claimBack,
  claimRight,
  claimServing,
  NEW_ADDRESS,
  type Outage,
  runOutage,
  SecureApi,
  SERVICES,
  startApiTestbed,
  startClient,
  startCluster,
  startFollower,
  WAIT_LIMIT_MS,
} from './api-testbed.js';
import { counted, type Fault, type FaultContext, PAGE, questionRate } from './fault.js';
import {
  addServices,
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
async function startWithoutServer(context: FaultContext): Promise<number> {
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
  const failed = await counted(kubedns, 'skydns_skydns_dns_error_count_total', {
    cause: 'servfail',
  });
  context.claim(failed > 0, `skydns_skydns_dns_error_count_total of servfail is ${failed}`);
  context.claim((await kubedns.readiness()) === 503, 'readiness is not 503 before');
  const ended = () => {
    try {
      hasty.server.check();
      return false;
    } catch (error) {
      return errorText(error).includes('ended with 255');
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
async function replaceServer(context: FaultContext): Promise<number> {
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
async function slowServer(context: FaultContext): Promise<number> {
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
async function flappingServer(context: FaultContext): Promise<number> {
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
async function breakingConnections(context: FaultContext): Promise<number> {
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
        ratePerSecond: questionRate(context, 100),
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
const restoreBackup = runOutage({
  begin: loseWrites,
  end: ({ front }) => front.open(),
  reasons: ['error'],
  isRelisted: true,
});

/** The server begins anew, with no more than a fresh cluster has. */
async function emptyCluster(context: FaultContext): Promise<number> {
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
const restartTwice = runOutage({
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

/**
 * Gives the program its own folder in the place of a pod's service account. The mount is
 * private to the program and ends with it.
 */
const AS_POD = [
  'unshare',
  '--mount',
  '--propagation=private',
  'sh',
  '-c',
  'mount -t tmpfs none /var/run && mkdir -p /var/run/secrets/kubernetes.io && ' +
    'ln -s "$0" /var/run/secrets/kubernetes.io/serviceaccount && exec "$@"',
];

/** The files of a service account. */
class ServiceAccount {
  readonly #folder: string;

  constructor(context: FaultContext) {
    this.#folder = context.owned.add(new TemporaryFolder()).path;
    this.write('ca.crt', authorityCertificate('one'));
    this.write('token', 'first');
    this.write('namespace', 'kube-system');
  }

  get path(): string {
    return this.#folder;
  }

  write(file: 'ca.crt' | 'token' | 'namespace', text: string): void {
    writeFileSync(join(this.#folder, file), text);
  }
}

interface Rotation {
  readonly begin: (secure: SecureApi) => void;
  /** What kubelet does some time later. */
  readonly renew: (account: ServiceAccount) => void;
}

/**
 * The server changes its token or CA, and the files of the service account follow later. Resolves
 * to the ms for which clients saw the old state after the files were right.
 */
function runRotation({ begin, renew }: Rotation): (context: FaultContext) => Promise<number> {
  return async (context) => {
    const api = await startCluster(context);
    const secure = context.owned.add(await SecureApi.start(api.port, 'first'));
    const account = new ServiceAccount(context);
    const env = {
      KUBERNETES_SERVICE_HOST: '127.0.0.1',
      KUBERNETES_SERVICE_PORT: String(secure.port),
    };
    const through = [...AS_POD, account.path];
    const kubedns = context.owned.add(await startKubedns({ ...context, flags: [], through, env }));
    await awaitWatches(kubedns, api);
    const client = await startClient(context, kubedns);
    begin(secure);
    await moveService(api, 1, NEW_ADDRESS);
    deleteService(api, 2);
    await delay(OUTAGE_MS);
    await awaitRestart({ kubedns }, ['error']);
    const page = await claimServing(context, { kubedns }, OUTAGE_MS * 0.9);
    const labels = { resource: 'services', reason: 'error' };
    const errors = page.sum('kubedns_watch_restarts_total', labels);
    context.claim(errors > 0, `kubedns_watch_restarts_total of error is ${errors} meanwhile`);
    await context.signs.seen();
    const renewedMs = performance.now();
    renew(account);
    const shownMs = await awaitChanges(client);
    await claimBack(context, { kubedns, api }, { endMs: renewedMs, isRelisted: false });
    await claimRight(context, client, { after: CHANGED });
    return shownMs - renewedMs;
  };
}

/** The token is refused until its file has the new one. */
const expireToken = runRotation({
  begin: (secure) => secure.expect('second'),
  renew: (account) => account.write('token', 'second'),
});

/** The server's certificate is from an authority that is not trusted until its file has the new one. */
const changeAuthority = runRotation({
  begin: (secure) => secure.show('two'),
  renew: (account) => account.write('ca.crt', authorityCertificate('two')),
});

const AS_KNOWN = 'Right answers, as of the last contact';
/** Pauses without an answer stay short for a minute. */
const ONCE_BACK =
  'Changes meanwhile show 0.5 s after it is back, up to 5 s when it was away for more than a minute';
/** The pause after each try that fails is twice the last. */
const UNTIL_BACK = 'Changes meanwhile show as long after it is back as it was away, at most 30 s';
/**
 * What an outage of two seconds may cost, with pauses from 50 ms, doubled each time: less than 2 s, unless a
 * loaded machine takes its time for the outage as well.
 */
const SHORT_LIMIT_MS = 8_000;
const SERVING =
  '`/readiness` stays 200 and `kubedns_ready` 1; `kubedns_last_event_age_seconds` grows';

function restartsOf(reason: string): string {
  return `${SERVING}; \`kubedns_watch_restarts_total{reason="${reason}"}\` counts each try`;
}

/** Every request is refused from now on, and those of the watches that are open end. */
function refusing(
  status: 403 | 410 | 429 | 500,
  more: Pick<Outage, 'reasons'> & Partial<Outage> & { readonly retryAfterSeconds?: number },
): (context: Parameters<Fault['run']>[0]) => Promise<number> {
  const { retryAfterSeconds, ...outage } = more;
  return runOutage({
    begin: ({ api }) => {
      api.failRequests({ status, ...(retryAfterSeconds && { retryAfterSeconds }) });
      api.dropWatches();
    },
    end: ({ api }) => api.clearFailures(),
    ...outage,
  });
}

/** Longer than the outage, also on a slow machine. */
const RETRY_AFTER_SECONDS = 5;

/** Faults of the Kubernetes API, as clients of kubedns see them. */
export const API_ROWS: readonly Fault[] = [
  {
    id: 'api-absent',
    shows: PAGE.unlisted,
    happens: 'There is no API server when kubedns starts',
    clients:
      'SERVFAIL for names of the cluster; then a namespace without a service may not exist for a moment',
    duration:
      'Until it is there, and up to 0.5 s more; after `--initial-sync-timeout` (1 min) kubedns ends with 255 and is restarted',
    limitMs: SHORT_LIMIT_MS,
    reasons: [EXTENDED_ERROR.NOT_READY],
    metrics:
      '`/readiness` is 503 and `kubedns_ready` 0; `skydns_skydns_dns_error_count_total{cause="servfail"}` grows',
    run: startWithoutServer,
  },
  {
    id: 'api-gone',
    shows: PAGE.watches,
    happens: 'The API server ends, and another one starts in its place',
    clients: AS_KNOWN,
    duration: ONCE_BACK,
    limitMs: SHORT_LIMIT_MS,
    metrics: `${restartsOf('error')}; \`kubedns_relists_total\` grows by 1 when it is back`,
    run: replaceServer,
  },
  {
    id: 'api-restored',
    shows: PAGE.watches,
    happens: 'The API server is restored from a backup: its resource versions begin again there',
    clients: AS_KNOWN,
    duration: `${ONCE_BACK}; up to 90 s where no connection ends with the restore`,
    limitMs: SHORT_LIMIT_MS,
    metrics: `${restartsOf('error')}; \`kubedns_relists_total\` grows by 1 when it is back`,
    run: restoreBackup,
  },
  {
    id: 'api-emptied',
    shows: PAGE.watches,
    happens: 'The API server loses all its data',
    clients: `${AS_KNOWN}; then NXDOMAIN`,
    duration: `${ONCE_BACK}; up to 90 s where no connection ends with the loss`,
    limitMs: SHORT_LIMIT_MS,
    metrics: `${restartsOf('error')}; \`kubedns_relists_total\` grows by 1 when it is back`,
    run: emptyCluster,
  },
  {
    id: 'api-restarts',
    shows: PAGE.watches,
    happens:
      'The API server restarts twice, 12 s apart; then it has lost the history, and refuses the first watches with 429',
    clients: AS_KNOWN,
    duration: 'Changes meanwhile show up to 3 s after it is back: pauses do not add up',
    limitMs: SHORT_LIMIT_MS,
    metrics: `${restartsOf('error')}; \`kubedns_relists_total\` grows by 1 when it is back`,
    isCommandOnly: true,
    run: restartTwice,
  },
  {
    id: 'api-slow',
    shows: PAGE.watches,
    happens: 'The API server answers each request after 2 s',
    clients: 'Right answers; changes show immediately while the watch is open',
    duration: 'A change while a watch begins shows as much later as the server is slow',
    limitMs: SHORT_LIMIT_MS,
    metrics: '`kubedns_watch_restarts_total{reason="closed"}` where a watch ended, else nothing',
    isCommandOnly: true,
    run: slowServer,
  },
  {
    id: 'api-hangs',
    happens: 'The API server takes connections and answers nothing, for 2 s',
    clients: AS_KNOWN,
    duration: 'Changes meanwhile show immediately when it goes on',
    limitMs: 2_000,
    metrics: SERVING,
    run: runOutage({
      lasts: () => delay(2_000),
      begin: ({ front }) => front.hang(),
      end: ({ front }) => front.pass(),
      reasons: [],
    }),
  },
  {
    id: 'api-hangs-long',
    shows: PAGE.idle,
    happens: 'The same for two minutes',
    clients: AS_KNOWN,
    duration: UNTIL_BACK,
    limitMs: 32_000,
    metrics: `${SERVING}; after 30 s of silence and 10 s without an answer \`kubedns_watch_restarts_total{reason="idle"}\` counts; \`kubedns_relists_total\` grows by 1 when it is back`,
    isCommandOnly: true,
    run: runOutage({
      lasts: () => delay(120_000),
      begin: ({ front }) => front.hang(),
      end: ({ front }) => front.pass(),
      reasons: ['idle'],
      isRelisted: true,
    }),
  },
  {
    id: 'api-resets',
    shows: PAGE.watches,
    happens: 'Every connection to the API server is reset',
    clients: AS_KNOWN,
    duration: ONCE_BACK,
    limitMs: SHORT_LIMIT_MS,
    metrics: restartsOf('error'),
    run: runOutage({
      begin: ({ front }) => front.reset(),
      end: ({ front }) => front.pass(),
      reasons: ['error'],
    }),
  },
  {
    id: 'api-410',
    shows: PAGE.watches,
    happens: 'The API server answers 410: the resource version is too old',
    clients: AS_KNOWN,
    duration: UNTIL_BACK,
    limitMs: SHORT_LIMIT_MS,
    metrics: `${restartsOf('gone')}; \`kubedns_relists_total\` grows by 1 when it is back`,
    run: refusing(410, { reasons: ['gone'], isRelisted: true }),
  },
  {
    id: 'api-429',
    shows: PAGE.watches,
    happens: 'The API server answers 429 with `Retry-After: 5`',
    clients: AS_KNOWN,
    duration: `${UNTIL_BACK}, and not before the time that it asked for (1 min at most)`,
    limitMs: SHORT_LIMIT_MS,
    metrics: `${restartsOf('error')}, of which there is one in the time that it asked for`,
    run: refusing(429, {
      reasons: ['error'],
      retryAfterSeconds: RETRY_AFTER_SECONDS,
      meanwhile: async (context, { api }, beginMs) => {
        let watches = 0;
        await becomesTrue(() => {
          watches = api.requests.count('watch', 'services');
          return watches >= 2;
        });
        // The one that was open, and one that was refused; a machine that stands still may see another.
        const most = 2 + Math.floor((performance.now() - beginMs) / 1_000 / RETRY_AFTER_SECONDS);
        const isSo = watches >= 2 && watches <= most;
        context.claim(isSo, `${watches} watches of services were asked for, not ${most}`);
      },
    }),
  },
  {
    id: 'api-500',
    shows: PAGE.watches,
    happens: 'The API server answers 500',
    clients: AS_KNOWN,
    duration: UNTIL_BACK,
    limitMs: SHORT_LIMIT_MS,
    metrics: restartsOf('error'),
    isCommandOnly: true,
    run: refusing(500, { reasons: ['error'] }),
  },
  {
    id: 'api-403',
    shows: PAGE.denied,
    happens: 'The API server answers 403',
    clients: `${AS_KNOWN}; from the second time on a namespace without a service does not exist`,
    duration: `${UNTIL_BACK}; namespaces are known again, and slices used in place of Endpoints, after up to a minute`,
    limitMs: SHORT_LIMIT_MS,
    metrics: restartsOf('denied'),
    run: refusing(403, {
      reasons: ['denied'],
      also: { [EMPTY_NAMESPACE_NAME]: ['NXDOMAIN'] },
      lasts: async ({ client }) => {
        const lostMs = await client.awaitText(EMPTY_NAMESPACE_NAME, 'NXDOMAIN', WAIT_LIMIT_MS);
        if (Number.isNaN(lostMs)) throw new MeasureError('an empty namespace exists all along');
        // The status page is looked at four times a second.
        await delay(1_000);
      },
    }),
  },
  {
    id: 'api-flaps',
    shows: PAGE.watches,
    happens: 'The API server comes and goes every second',
    clients: AS_KNOWN,
    duration:
      'A change shows at the next try that meets it; pauses begin anew after half a second of a watch',
    limitMs: 10_000,
    metrics: '`/readiness` stays 200; `kubedns_watch_restarts_total` grows',
    isCommandOnly: true,
    run: flappingServer,
  },
  {
    id: 'api-breaks',
    shows: PAGE.broken,
    happens: 'Every connection to the API server breaks, 20 times one second apart',
    clients: AS_KNOWN,
    duration: 'Changes meanwhile show within 50 ms: the next watch begins at once',
    // The median is held against 50 ms.
    limitMs: 1_000,
    metrics:
      '`/readiness` stays 200; `kubedns_watch_restarts_total{reason="closed"}` counts each break',
    isCommandOnly: true,
    run: breakingConnections,
  },
  {
    id: 'api-token',
    shows: PAGE.watches,
    happens: 'The token of the service account is refused with 401 until its file is renewed',
    clients: AS_KNOWN,
    duration: 'Changes meanwhile show up to 30 s after the file is renewed',
    limitMs: SHORT_LIMIT_MS,
    metrics: restartsOf('error'),
    skipReason: needsNamespaces,
    run: expireToken,
  },
  {
    id: 'api-ca',
    shows: PAGE.watches,
    happens: 'The certificate of the API server is of another CA until `ca.crt` is renewed',
    clients: AS_KNOWN,
    duration: 'Changes meanwhile show up to 30 s after the file is renewed',
    limitMs: SHORT_LIMIT_MS,
    metrics: restartsOf('error'),
    skipReason: needsNamespaces,
    run: changeAuthority,
  },
];
