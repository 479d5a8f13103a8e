import type { Fault } from './faults.js';
import type { Sign } from './monitor.js';
import type { Scenario } from './scenario.js';

/** What a status page shows: in words, and how it is found. */
interface PageSign {
  readonly text: string;
  readonly found: RegExp;
}

/** A row of FAULTS.md that is shown in virtual time: what it says, and the scenario that shows it. */
export interface FaultRow extends Partial<Omit<Scenario, 'seed' | 'signs'>> {
  readonly id: string;
  readonly happens: string;
  readonly clients: string;
  readonly duration: string;
  readonly metrics: string;
  readonly shows?: PageSign;
  readonly faults: readonly Fault[];
  /** The program and the virtual second at which its status page shows it. */
  readonly shown?: readonly [at: number, program: keyof typeof PORTS];
  readonly signs: readonly Sign[];
}

const PORTS = { kubedns: 10_055, dnsmasq: 10_056, sidecar: 10_054 } as const;

/** The small scenario of a row. */
export function scenarioOf({
  id,
  shows,
  shown,
  signs,
  faults,
  reasons = [],
  ...more
}: FaultRow): Scenario {
  const [at = 0, program = 'kubedns'] = shown ?? [];
  const page =
    shows === undefined ? [] : [sign(at, `${PORTS[program]}/status`, shows.found.source)];
  return {
    seed: id,
    pods: 1,
    nodes: 1,
    services: 4,
    seconds: 10,
    changesPerSecond: 0.7,
    questionsPerSecond: 4,
    bulksPerMinute: 0,
    late: 'none',
    others: [],
    ...more,
    faults,
    reasons,
    signs: [...signs, ...page],
  };
}

function sign(at: number, page: string, has: string): Sign {
  return { at, machine: 'dns-0', page, has };
}

/** A metric of a program has such a value. */
function counts(at: number, program: keyof typeof PORTS, metric: string, value: string): Sign {
  return sign(at, `${PORTS[program]}/metrics`, `^${metric.replace(/[{}]/gu, '\\$&')} ${value}`);
}

function restarts(at: number, reason: string, value = '[1-9]'): Sign {
  return counts(at, 'kubedns', `kubedns_watch_restarts_total{resource="services",reason="${reason}"}`, value); // prettier-ignore
}

/** What has the last version needs no other list. */
function relists(at: number, value: 0 | 1, resource = 'services'): Sign {
  return counts(at, 'kubedns', `kubedns_relists_total{resource="${resource}"}`, `${value}$`);
}

function silentFor(at: number, seconds: string): Sign {
  return counts(at, 'kubedns', 'kubedns_last_event_age_seconds{resource="services"}', seconds);
}

/** kubedns is ready then. */
function ready(at: number): readonly Sign[] {
  return [sign(at, '8081/readiness', '^200'), counts(at, 'kubedns', 'kubedns_ready', '1$')];
}

const WATCHES: PageSign = {
  text: 'Watches that are not open, with the last failure; after 5 s, that they are stale',
  found: /"resource":"services","state":"(?:connecting|stale)"[^}]*"lastFailure":"[^"]/u,
};
const DENIED: PageSign = {
  text: 'Watches that are denied, and what they need',
  found: /"resource":"namespaces","state":"denied"[^}]*it needs list and watch/u,
};
const BROKEN: PageSign = {
  text: 'How often the watches were closed',
  found: /"restarts":"[^"]*closed \d/u,
};
const IDLE: PageSign = {
  text: 'How often the watches were idle',
  found: /"restarts":"[^"]*idle \d/u,
};

const AS_KNOWN = 'Right answers, as of the last contact';
/** Pauses without an answer stay short for a minute. */
const ONCE_BACK = 'Changes meanwhile show 0.5 s after it is back, up to 5 s when it was away for more than a minute'; // prettier-ignore
/** For the time of an answer, too. */
const SOON = 0.6;
/** The pause after each try that fails is twice the last. */
const UNTIL_BACK = 'Changes meanwhile show as long after it is back as it was away, at most 30 s';
const SERVING = '`/readiness` stays 200 and `kubedns_ready` 1; `kubedns_last_event_age_seconds` grows'; // prettier-ignore
const RELISTED = '; `kubedns_relists_total` grows by 1 when it is back';
const OUTAGE = 1.5;

function restartsOf(reason: string): string {
  return `${SERVING}; \`kubedns_watch_restarts_total{reason="${reason}"}\` counts each try`;
}

/** Lists and watches are refused; kubedns is back so many seconds after that. */
function refusing(
  back: number,
  status: 403 | 410 | 429 | 500,
  more: { readonly retryAfterSeconds?: number } = {},
): Fault[] {
  return (['list', 'watch'] as const).map((verb) => ({ at: 65, for: OUTAGE, back, kind: 'refuse', verb, status, ...more })); // prettier-ignore
}

const RESTARTED = { for: OUTAGE, back: SOON, kind: 'restart', hasHistory: true, refusedWatches: 0 } as const; // prettier-ignore

/** Faults of the Kubernetes API. */
export const API_ROWS: readonly FaultRow[] = [
  {
    id: 'api-restored',
    shows: WATCHES,
    happens: 'The API server is restored from a backup: its resource versions begin again there',
    clients: AS_KNOWN,
    duration: `${ONCE_BACK}; up to 90 s where no connection ends with the restore`,
    metrics: `${restartsOf('error')}${RELISTED}`,
    seconds: 55,
    faults: [{ at: 110, for: OUTAGE, back: SOON, kind: 'restore' }],
    shown: [111, 'kubedns'],
    signs: [relists(109, 0), ...ready(111), restarts(111, 'error'), relists(114, 1)],
  },
  {
    id: 'api-emptied',
    shows: WATCHES,
    happens: 'The API server loses all its data',
    clients: `${AS_KNOWN}; then NXDOMAIN`,
    duration: `${ONCE_BACK}; up to 90 s where no connection ends with the loss`,
    metrics: `${restartsOf('error')}${RELISTED}`,
    faults: [{ at: 70, for: OUTAGE, back: SOON, kind: 'empty' }],
    shown: [71, 'kubedns'],
    signs: [...ready(71), restarts(71, 'error'), relists(74, 1)],
  },
  {
    id: 'api-restarts',
    shows: WATCHES,
    happens:
      'The API server restarts twice, 12 s apart; then it has lost the history, and refuses the first watches with 429',
    clients: AS_KNOWN,
    duration: 'Changes meanwhile show up to 3 s after it is back: pauses do not add up',
    metrics: `${restartsOf('error')}${RELISTED}`,
    faults: [
      { ...RESTARTED, at: 65 },
      { ...RESTARTED, at: 78.5, back: 3, hasHistory: false, refusedWatches: 3 },
    ],
    shown: [79, 'kubedns'],
    signs: [relists(70, 0), ...ready(79), restarts(79, 'error'), relists(84, 1, '[a-z]+')],
  },
  {
    id: 'api-slow',
    shows: WATCHES,
    happens: 'The API server answers each request after 2 s',
    clients: 'Right answers; changes show immediately while the watch is open',
    duration: 'A change while a watch begins shows as much later as the server is slow',
    metrics: '`kubedns_watch_restarts_total{reason="closed"}` where a watch ended, else nothing',
    faults: [
      { at: 65, for: 30, isHarmless: true, kind: 'slow', ms: 2_000 },
      { at: 80, for: 0, back: 2.1, kind: 'break' },
    ],
    shown: [81, 'kubedns'],
    signs: [restarts(79, 'closed', '0$'), ...ready(81), restarts(81, 'closed', '1$'), relists(84, 0)], // prettier-ignore
  },
  {
    id: 'api-hangs',
    happens: 'The API server takes connections and answers nothing, for 2 s',
    clients: AS_KNOWN,
    duration: 'Changes meanwhile show immediately when it goes on',
    metrics: SERVING,
    faults: [{ at: 65, for: 2, back: 0, kind: 'hang' }],
    signs: [...ready(66.9), silentFor(66.9, '[1-9]'), restarts(70, '[a-z]+', '0$')],
  },
  {
    id: 'api-hangs-long',
    shows: IDLE,
    happens: 'The same for two minutes',
    clients: AS_KNOWN,
    duration: UNTIL_BACK,
    metrics: `${SERVING}; after 10 s of silence and 10 s without an answer \`kubedns_watch_restarts_total{reason="idle"}\` counts${RELISTED}`,
    faults: [{ at: 65, for: 120, back: 30, kind: 'hang' }],
    shown: [150, 'kubedns'],
    signs: [restarts(80, 'idle', '0$'), ...ready(150), silentFor(150, '8'), restarts(150, 'idle'), relists(218, 1)], // prettier-ignore
  },
  {
    id: 'api-resets',
    shows: WATCHES,
    happens: 'The API server closes every connection and refuses new ones',
    clients: AS_KNOWN,
    duration: ONCE_BACK,
    metrics: restartsOf('error'),
    faults: [{ ...RESTARTED, at: 65 }],
    shown: [66, 'kubedns'],
    signs: [...ready(66), restarts(66, 'error'), relists(70, 0)],
  },
  {
    id: 'api-410',
    shows: WATCHES,
    happens: 'The API server answers 410: the resource version is too old',
    clients: AS_KNOWN,
    duration: UNTIL_BACK,
    metrics: `${restartsOf('gone')}${RELISTED}`,
    faults: refusing(OUTAGE, 410),
    shown: [66.4, 'kubedns'],
    signs: [...ready(66.4), restarts(66.4, 'gone'), relists(70, 1)],
  },
  {
    id: 'api-429',
    shows: WATCHES,
    happens: 'The API server answers 429 with `Retry-After: 5`',
    clients: AS_KNOWN,
    duration: `${UNTIL_BACK}, and not before the time that it asked for (1 min at most)`,
    metrics: `${restartsOf('error')}, of which there is one in the time that it asked for`,
    faults: refusing(5, 429, { retryAfterSeconds: 5 }),
    shown: [66.4, 'kubedns'],
    signs: [...ready(66.4), restarts(66.4, 'error'), restarts(69.9, 'error', '1$')],
  },
  {
    id: 'api-500',
    shows: WATCHES,
    happens: 'The API server answers 500',
    clients: AS_KNOWN,
    duration: UNTIL_BACK,
    metrics: restartsOf('error'),
    faults: refusing(OUTAGE, 500),
    shown: [66.4, 'kubedns'],
    signs: [...ready(66.4), restarts(66.4, 'error'), relists(70, 0)],
  },
  {
    id: 'api-403',
    shows: DENIED,
    happens: 'The API server answers 403',
    clients: `${AS_KNOWN}; from the second time on a namespace without a service does not exist`,
    duration: `${UNTIL_BACK}; namespaces are known again, and slices used in place of Endpoints, after up to a minute`,
    metrics: restartsOf('denied'),
    faults: refusing(60, 403),
    shown: [66.4, 'kubedns'],
    signs: [...ready(66.4), restarts(66.4, 'denied')],
  },
  {
    id: 'api-flaps',
    shows: WATCHES,
    happens: 'The API server comes and goes every second',
    clients: AS_KNOWN,
    duration:
      'A change shows at the next try that meets it; pauses begin anew after half a second of a watch',
    metrics: '`/readiness` stays 200; `kubedns_watch_restarts_total` grows',
    faults: [65, 67, 69, 71, 73].map((at) => ({ ...RESTARTED, at, for: 1 })),
    shown: [73.5, 'kubedns'],
    signs: [...ready(73.5), restarts(73.5, 'error')],
  },
  {
    id: 'api-breaks',
    shows: BROKEN,
    happens: 'Every connection to the API server breaks, 20 times one second apart',
    clients: AS_KNOWN,
    duration: 'Changes meanwhile show within 50 ms: the next watch begins at once',
    metrics:
      '`/readiness` stays 200; `kubedns_watch_restarts_total{reason="closed"}` counts each break',
    faults: Array.from({ length: 20 }, (_, at) => ({ at: 65 + at, for: 0, isHarmless: true, kind: 'break' })), // prettier-ignore
    shown: [84.5, 'kubedns'],
    signs: [...ready(84.5), restarts(84.5, 'closed', '20$')],
    changesPerSecond: 3,
  },
];

const PROBE_OF_DNSMASQ: PageSign = {
  text: 'The probe of dnsmasq that fails',
  found: /probe dnsmasq(?: fails)?: /u,
};
const FROM_NEXT_PROBE = "`/readiness` and `/healthcheck/kubedns` stay 200; `/healthcheck/dnsmasq` is 503 from the next probe on, and `kubedns_probe_dnsmasq_errors` grows"; // prettier-ignore
const DAY_MS = 86_400_000;

function healthy(at: number, probe: 'kubedns' | 'dnsmasq', status: '0' | '200' | '503'): Sign {
  return sign(at, `10054/healthcheck/${probe}`, `^${status}$`);
}

/** The date of the pod is wrong for half a minute; only timestamps follow it. */
function clockRow(id: string, happens: string, atMost: string, byMs: number): FaultRow {
  return {
    id,
    happens,
    clients: `Right answers; TTLs fall by the time that passed, and nothing ${atMost}`,
    duration: 'Never',
    metrics:
      "`/readiness` and `/healthcheck/*` stay 200; `kubedns_last_event_age_seconds` and the sidecar's latencies are of the time that passed; only timestamps follow the clock",
    faults: [{ at: 65, for: 30, isHarmless: true, kind: 'clock', machine: 'dns-0', byMs }],
    signs: [70, 90, 100].flatMap((at) => [
      ...ready(at),
      silentFor(at, '\\d{1,2}(?:\\.|$)'),
      ...(['kubedns', 'dnsmasq'] as const).flatMap((probe) => [
        healthy(at, probe, '200'),
        counts(at, 'sidecar', `kubedns_probe_${probe}_latency_ms_sum`, '\\d{1,3}(?:\\.|$)'),
      ]),
    ]),
  };
}

/** Faults of the containers of a pod, and of the clock of its machine. */
export const PROCESS_ROWS: readonly FaultRow[] = [
  {
    id: 'sidecar-killed',
    happens: 'The sidecar ends by SIGKILL, and is started again',
    clients: 'Right answers',
    duration: 'Never',
    metrics:
      'The pages of the sidecar do not answer until it is back; its counters begin at 0; `/readiness` stays 200',
    faults: [{ at: 65, for: 2, isHarmless: true, kind: 'kill', machine: 'dns-0', program: 'sidecar', turns: 0 }], // prettier-ignore
    signs: [...ready(66), healthy(66, 'dnsmasq', '0'), healthy(80, 'dnsmasq', '200'), counts(80, 'sidecar', 'kubedns_probe_dnsmasq_latency_ms_count', '[1-4]$')], // prettier-ignore
  },
  {
    id: 'dnsmasq-stopped',
    shows: PROBE_OF_DNSMASQ,
    happens: 'dnsmasq is stopped by SIGSTOP for 8 s, and goes on',
    clients: 'Silence; clients that still wait when it goes on get right answers',
    duration: 'Until it goes on: the next question is answered',
    metrics: FROM_NEXT_PROBE,
    faults: [{ at: 65, for: 8, back: 1, kind: 'freeze', machine: 'dns-0', program: 'dnsmasq', turns: 0 }], // prettier-ignore
    shown: [72.9, 'sidecar'],
    signs: [...ready(72.9), healthy(72.9, 'kubedns', '200'), healthy(72.9, 'dnsmasq', '503'), counts(72.9, 'sidecar', 'kubedns_probe_dnsmasq_errors', '[1-9]')], // prettier-ignore
  },
  {
    id: 'sidecar-stopped',
    happens: 'The sidecar is stopped by SIGSTOP for 6 s, and goes on',
    clients: 'Right answers',
    duration: 'Never',
    metrics:
      'The pages of the sidecar do not answer; `/readiness` stays 200; when it goes on, `/healthcheck/*` are 200 after the next probe',
    faults: [{ at: 65, for: 6, isHarmless: true, kind: 'freeze', machine: 'dns-0', program: 'sidecar', turns: 0 }], // prettier-ignore
    signs: [...ready(66), healthy(66, 'dnsmasq', '0'), ...(['kubedns', 'dnsmasq'] as const).map((probe) => healthy(76.1, probe, '200'))], // prettier-ignore
  },
  clockRow('clock-forward', 'The time of day jumps forward by a day, and back', 'leaves the cache', DAY_MS), // prettier-ignore
  clockRow('clock-back', 'The time of day jumps back by a day, and forward', 'stays in the cache longer', -DAY_MS), // prettier-ignore
];

/** All rows. */
export const FAULT_ROWS: readonly FaultRow[] = [...API_ROWS, ...PROCESS_ROWS];
