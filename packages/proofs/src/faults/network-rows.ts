import { networkSkipReason } from '../fixtures/network-skip-reason.js';
import { EXTENDED_ERROR } from '@kube-dns/wire';
import type { Fault } from './fault.js';
import { cutApi, delayApi, loseApiPackets } from './network-api-scenarios.js';
import {
  cutUpstreams,
  delayUpstreams,
  duplicateUpstreams,
  loseClientsDatagrams,
  loseUpstreamsDatagrams,
  reorderUpstreams,
} from './network-upstream-scenarios.js';
import { PAGE } from './page-signs.js';

const AS_KNOWN = 'Right answers, as of the last contact';
const FAILURES = 'dnsmasq_upstream_server_failures_total';
const UNANSWERED = 'dnsmasq_upstream_failures_total';
const LATENCY = 'dnsmasq_upstream_server_latency_seconds';
const SERVING =
  '`/readiness` stays 200 and `kubedns_ready` 1; `kubedns_last_event_age_seconds` grows';

/** Faults between hosts: the pod is on one, its clients on another, its upstreams and API on a third. */
const ROWS: readonly Fault[] = [
  {
    id: 'network-loses-clients',
    happens: 'A fifth of all datagrams between clients and the pod is lost, in both directions',
    clients:
      'No answer to a third of the questions, as many as lost a datagram; right answers to all others, none of them late',
    duration:
      'As long as it lasts: the pod has nothing to wait for, and a client that asks again is answered',
    limitMs: 6_000,
    metrics: `Nothing: \`/readiness\` stays 200, and \`${UNANSWERED}\` does not grow`,
    isCommandOnly: true,
    run: loseClientsDatagrams,
  },
  {
    id: 'network-loses-upstreams',
    shows: PAGE.timeouts,
    happens:
      'A fifth of all datagrams between dnsmasq and three upstreams is lost, in both directions',
    clients:
      'Names in the cache as before; of all others a third a second late, some three seconds, and fewer than one in ten get SERVFAIL after 4.5 s',
    duration: 'Until none is lost: the next question is answered immediately',
    limitMs: 6_000,
    reasons: [EXTENDED_ERROR.NO_REACHABLE_AUTHORITY],
    haveAllReason: false,
    metrics: `\`${FAILURES}{reason="timeout"}\` grows`,
    isCommandOnly: true,
    run: loseUpstreamsDatagrams,
  },
  {
    id: 'network-loses-api',
    happens:
      'A fifth of all packets between kubedns and the API server is lost, in both directions',
    clients: 'Right answers; changes show as soon as TCP has brought them',
    duration: 'A second, seldom a few, for each change',
    limitMs: 15_000,
    metrics:
      '`/readiness` stays 200 and `kubedns_ready` 1; `kubedns_watch_restarts_total` does not grow',
    isCommandOnly: true,
    run: loseApiPackets,
  },
  {
    id: 'network-cuts-upstreams',
    shows: PAGE.serversAway,
    happens: 'The link between dnsmasq and all three upstreams is down; then it is up',
    clients:
      'Names in the cache as before; SERVFAIL for all others: after 1.8 s at first, then immediately',
    duration: 'Until it is up, and up to a second more',
    limitMs: 6_000,
    reasons: [EXTENDED_ERROR.NO_REACHABLE_AUTHORITY, EXTENDED_ERROR.NETWORK_ERROR],
    metrics: `\`${FAILURES}{reason="timeout"}\` and \`${UNANSWERED}\` grow`,
    isCommandOnly: true,
    run: cutUpstreams,
  },
  {
    id: 'network-cuts-api',
    happens: 'The link between kubedns and the API server is down for 2 s',
    clients: AS_KNOWN,
    duration:
      'Changes meanwhile show when TCP sends them again: once it has been up for as long as it was down, at most',
    limitMs: 15_000,
    metrics: `${SERVING}; \`kubedns_watch_restarts_total\` does not`,
    run: cutApi(2_000, false),
  },
  {
    id: 'network-cuts-api-long',
    shows: PAGE.idle,
    happens: 'The same for two minutes',
    clients: AS_KNOWN,
    duration: 'Changes meanwhile show up to 40 s after it is up',
    limitMs: 45_000,
    metrics: `${SERVING}; after 30 s of silence and 10 s without an answer \`kubedns_watch_restarts_total{reason="idle"}\` counts`,
    isCommandOnly: true,
    run: cutApi(120_000, true),
  },
  {
    id: 'network-delays-upstreams',
    happens: 'Each datagram between dnsmasq and three upstreams takes 200 ms more',
    clients: 'Names in the cache as before; all others 400 ms later',
    duration: 'As long as it lasts',
    limitMs: 4_400,
    metrics: `\`${LATENCY}\` moves up; \`${UNANSWERED}\` does not grow`,
    isCommandOnly: true,
    run: delayUpstreams,
  },
  {
    id: 'network-reorders-upstreams',
    happens:
      'Each datagram between dnsmasq and three upstreams takes up to 200 ms more, by chance, so that some overtake others',
    clients: 'Right answers, not later than the delay',
    duration: 'Never',
    limitMs: 0,
    metrics: `\`${LATENCY}\` moves up; \`${UNANSWERED}\` does not grow`,
    isCommandOnly: true,
    run: reorderUpstreams,
  },
  {
    id: 'network-doubles-upstreams',
    happens:
      'Each datagram between dnsmasq and three upstreams comes twice, and once more two seconds later',
    clients: 'Right answers, one to each question, and none to another',
    duration: 'Never',
    limitMs: 0,
    metrics: `Nothing: \`${LATENCY}\` counts the first reply only`,
    run: duplicateUpstreams,
  },
  {
    id: 'network-delays-api',
    happens: 'Each packet between kubedns and the API server takes 200 ms more',
    clients: 'Right answers; changes show 200 ms later',
    duration: 'As long as it lasts',
    limitMs: 6_000,
    metrics:
      '`/readiness` stays 200 and `kubedns_ready` 1; `kubedns_watch_restarts_total` does not grow',
    isCommandOnly: true,
    run: delayApi,
  },
];

/** Faults between hosts. */
export const NETWORK_ROWS: readonly Fault[] = ROWS.map((row) => {
  return { ...row, skipReason: networkSkipReason };
});
