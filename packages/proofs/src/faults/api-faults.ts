import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { errorText } from '@kube-dns/base';
import { becomesTrue, needsNamespaces, TemporaryFolder } from '@kube-dns/testkit';
import { EXTENDED_ERROR } from '@kube-dns/wire';
import { startKubedns } from '../fixtures/pod-containers.js';
import { ApiFront } from '../fixtures/relays.js';
import {
  authorityCertificate,
  awaitChanges,
  awaitRestart,
  awaitWatches,
  CHANGED,
  claimBack,
  claimRight,
  claimServing,
  NEW_ADDRESS,
  SecureApi,
  SERVICES,
  startApiTestbed,
  startClient,
  startCluster,
  startFollower,
  WAIT_LIMIT_MS,
} from './api-testbed.js';
import { counted, type Fault, type FaultContext, PAGE } from './fault.js';
import { deleteService, EMPTY_NAMESPACE_NAME, moveService, rightTexts } from './small-cluster.js';

const OUTAGE_MS = 1_500;
const STEP_MS = 20;

/** No API server is there when kubedns starts. */
async function startWithoutServer(context: FaultContext): Promise<number> {
  const api = await startCluster(context);
  const front = context.owned.add(await ApiFront.start(api.port));
  await front.close();
  const kubedns = await startFollower(context, front);
  const hasty = await startFollower(context, front, '--initial-sync-timeout=1s');
  await kubedns.ready(WAIT_LIMIT_MS, { status: 503 });
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
