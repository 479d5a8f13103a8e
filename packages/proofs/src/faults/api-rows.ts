import { setTimeout as delay } from 'node:timers/promises';
import { MeasureError, needsNamespaces } from '@kube-dns/testkit';
import { changeAuthority, expireToken } from './api-access.js';
import { type Outage, runOutage } from './api-outage.js';
import { emptyCluster, restartTwice, restoreBackup } from './api-restarts.js';
import {
  breakingConnections,
  flappingServer,
  relistHalf,
  replaceServer,
  slowServer,
  startWithoutServer,
} from './api-scenarios.js';
import { EXTENDED_ERROR } from '@kube-dns/wire';
import type { Fault } from './fault.js';
import { EMPTY_NAMESPACE_NAME } from './small-cluster.js';
import { PAGE } from './page-signs.js';

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
      meanwhile: (context, { api }, lastedMs) => {
        const watches = api.requests.count('watch', 'services');
        // The one that was open, and one that was refused; a machine that stands still may see another.
        const most = 2 + Math.floor(lastedMs / 1_000 / RETRY_AFTER_SECONDS);
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
        const lostMs = await client.awaitText(EMPTY_NAMESPACE_NAME, 'NXDOMAIN', 20_000);
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
  {
    id: 'api-relist',
    shows: PAGE.watches,
    happens:
      'Half of all objects are deleted while there is no connection, and the history is lost',
    clients: `${AS_KNOWN}; then the new state, without a moment in which a name has neither`,
    duration: ONCE_BACK,
    limitMs: SHORT_LIMIT_MS,
    metrics:
      '`kubedns_relists_total` grows by 1; `kubedns_objects` and `kubedns_records` fall to what is left',
    run: relistHalf,
  },
];
