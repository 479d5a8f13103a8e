import {
  asMapping,
  mappingsOf,
  textOf,
  textsOf,
  valueAt,
  type Mapping,
} from '../manifests/objects.js';
import type {
  CertificateFact,
  ConfigInUse,
  FactValues,
  TrafficFact,
  TypeCounts,
  UpstreamFact,
} from './facts.js';

/** The status page of a program, and its metrics. */
export interface ProgramPages {
  /** As `kubedns of pod kube-dns-5c8f7`. */
  readonly by: string;
  /** `/status` as JSON; undefined of CoreDNS, which has none. */
  readonly report: Mapping | undefined;
  /** `/metrics`; empty without. */
  readonly metrics: string;
  /** By how much the clock of its machine is ahead of this one. */
  readonly aheadMs: number;
}

/** The facts that pages of programs have: those of which there is at least one page. */
export function factsOfPages(pages: readonly ProgramPages[]): Partial<FactValues> {
  const of = (...programs: readonly string[]) =>
    pages.filter(({ report }) => programs.includes(textOf(report?.program)));
  const own = pages.filter(({ report }) => report !== undefined);
  const kubedns = of('kubedns');
  const caches = of('dnsmasq', 'node-cache');
  const types = pages.flatMap(typesOf);
  const podPorts = podPortsOf(own);
  const zones = kubedns.flatMap(({ by, report }) => {
    const zone = textOf(valueAt(sectionsOf(report), 'Zone', 'zone')).replace(/\.$/, '');
    return zone === '' ? [] : [{ by, zone }];
  });
  return {
    ...(own.length > 0 && {
      notReady: own.flatMap(({ by, report }) =>
        textsOf(report?.notReady).map((each) => `${by} is not ready: ${each}`),
      ),
      upstreams: own.flatMap((each) => upstreamsOf(each, podPorts)),
    }),
    ...(own.length > 0 &&
      own.every(({ metrics }) => metrics !== '') && {
        certificates: own.flatMap(certificatesOf),
      }),
    ...(kubedns.length > 0 && {
      watches: kubedns.flatMap(({ by, report }) =>
        rowsOf(report, 'Watches of the API').map((row) => ({
          by,
          resource: textOf(row.resource),
          state: textOf(row.state),
          version: textOf(row.resourceVersion),
          reason: textOf(row.lastFailure),
        })),
      ),
      hiddenNamespaces: kubedns.flatMap(({ report }) =>
        settingOf(report, '--hidden-namespaces')
          .split(',')
          .filter((name) => name !== ''),
      ),
    }),
    ...(zones.length > 0 && { zones }),
    ...(caches.length > 0 && {
      traffic: caches.map(trafficOf),
      subscriptions: caches.flatMap(subscriptionsOf),
    }),
    ...(of('node-cache').length > 0 && {
      nodeRules: of('node-cache').map(({ by, report }) => {
        const { rulesBy, hasInterface, hasRules } = asMapping(sectionsOf(report).Node) ?? {};
        return { by, rulesBy: textOf(rulesBy), hasInterface: hasInterface === true, hasRules: hasRules === true }; // prettier-ignore
      }),
    }),
    ...(types.length > 0 && { questionTypes: types }),
    clocks: pages.map(({ by, aheadMs }) => ({ of: by, aheadMs })),
  };
}

/** Of each dnsmasq the servers that it has from the ConfigMap, beside those of the ConfigMap itself. */
export function configsInUse(
  pages: readonly ProgramPages[],
  wanted: Readonly<Record<string, string>>,
): ConfigInUse[] {
  return pages.flatMap(({ by, report }) => {
    const applied = asMapping(sectionsOf(report)['Configuration applied']);
    if (applied === undefined) return [];
    const refused = textOf(applied.refusedAt) === '' ? '' : textOf(applied.reason);
    const settings = rowsOf(report, 'Settings')
      .map(({ setting, value }) => [textOf(setting), textOf(value)] as const)
      .filter(([setting]) => /^(?:stubDomains |upstreamNameservers$)/.test(setting));
    // The pages of the others show no stub domain on its own.
    const used = report?.program === 'dnsmasq' ? Object.fromEntries(settings) : wanted;
    return [{ by, wanted, used, refused }];
  });
}

function sectionsOf(report: Mapping | undefined): Mapping {
  return asMapping(report?.sections) ?? {};
}

function rowsOf(report: Mapping | undefined, title: string): Mapping[] {
  return mappingsOf(sectionsOf(report)[title]);
}

/** The value of a setting of a program; empty without. */
export function settingOf(report: Mapping | undefined, name: string): string {
  const row = rowsOf(report, 'Settings').find(({ setting }) => setting === name);
  return textOf(row?.value);
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

/** Of kubedns in the stock manifest. */
const KUBEDNS_PORT = '10053';

/** Where the programs of a pod serve DNS. */
function podPortsOf(pages: readonly ProgramPages[]): ReadonlySet<string> {
  const ports = pages.flatMap(({ report }) => [settingOf(report, '--dns-port'), settingOf(report, '--port')]); // prettier-ignore
  return new Set([KUBEDNS_PORT, ...ports]);
}

/** The other programs of a pod are servers as well: what is wrong with them, other findings say. */
function isOfPod(server: string, podPorts: ReadonlySet<string>): boolean {
  return (
    /^(?:127\.|\[?::1)/.test(server) && podPorts.has(server.slice(server.lastIndexOf('#') + 1))
  );
}

function upstreamsOf({ by, report }: ProgramPages, podPorts: ReadonlySet<string>): UpstreamFact[] {
  const seconds = numberOf(valueAt(sectionsOf(report), 'Process', 'uptimeSeconds'));
  return [...rowsOf(report, 'Servers'), ...rowsOf(report, 'Upstream servers')]
    .filter(({ server }) => !isOfPod(textOf(server), podPorts))
    .map((row) => ({
      by,
      server: textOf(row.server),
      domains: textOf(row.domains),
      isDown: row.state === 'down',
      reason: textOf(row.reason),
      failures: failuresOf(textOf(row.failures)),
      queries: numberOf(row.queries),
      perSecond: seconds > 0 ? numberOf(row.queries) / seconds : 0,
    }));
}

/** `timeout 3, refused 1`. */
function failuresOf(text: string): Readonly<Record<string, number>> {
  return Object.fromEntries(
    text.split(', ').flatMap((part) => {
      const at = part.lastIndexOf(' ');
      const count = part.slice(at + 1);
      return at > 0 && /^\d+$/.test(count) ? [[part.slice(0, at), Number(count)]] : [];
    }),
  );
}

function certificatesOf({ by, report, metrics }: ProgramPages): CertificateFact[] {
  const nowSeconds = Date.parse(textOf(report?.at)) / 1_000;
  const servers = upstreamsOf({ by, report, metrics, aheadMs: 0 }, new Set());
  const ends = samplesOf(metrics, /_upstream_server_certificate_end_timestamp_seconds$/);
  return ends.flatMap(({ labels, value }) => {
    const server = labels.server ?? '';
    const failures = servers.find((each) => each.server === server)?.failures.certificate ?? 0;
    return [{ by, server, endsInSeconds: value === 0 ? undefined : value - nowSeconds, failures }];
  });
}

function trafficOf({ by, report }: ProgramPages): TrafficFact {
  const questions = (title: string) =>
    rowsOf(report, title).map((row) => ({
      name: textOf(row.name),
      client: textOf(row.client),
      questions: numberOf(row.questions),
    }));
  const clients = questions('Top clients');
  return {
    by,
    questions: clients.reduce((total, each) => total + each.questions, 0),
    nxdomain: questions('Top NXDOMAIN names').map(({ name, questions: count }) => ({ name, questions: count })), // prettier-ignore
    clients: clients.map(({ client }) => client),
  };
}

function subscriptionsOf({ by, report }: ProgramPages) {
  const isWanted = settingOf(report, '--negcache') === 'push';
  return rowsOf(report, 'Zones')
    .filter(({ state }) => state !== 'unsupported' || isWanted)
    .map((row) => ({
      by,
      zone: textOf(row.zone),
      state: textOf(row.state),
      reason: textOf(row.reason),
      coveragePercent: typeof row.coveragePercent === 'number' ? row.coveragePercent : undefined,
      answers: numberOf(row.zoneAnswers),
    }));
}

/** Counts of CoreDNS, or of dnsmasq and kubedns with `--coredns-metrics`. */
function typesOf({ by, metrics }: ProgramPages): TypeCounts[] {
  const samples = samplesOf(metrics, /^coredns_dns_requests_total$/);
  if (samples.length === 0) return [];
  const total = (rows: typeof samples) => rows.reduce((sum, { value }) => sum + value, 0);
  return [{ by, all: total(samples), aaaa: total(samples.filter(({ labels }) => labels.type === 'AAAA')) }]; // prettier-ignore
}

interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The samples of the metrics with such names, of the text format of Prometheus. */
function samplesOf(text: string, name: RegExp): Sample[] {
  return text.split('\n').flatMap((line) => {
    const [, metric = '', labels = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (!name.test(metric)) return [];
    // From the start of a word alone: else a long word takes the square of its length.
    const pairs = [...labels.matchAll(/\b(\w+)="((?:[^"\\]|\\.)*)"/g)];
    return [
      {
        labels: Object.fromEntries(pairs.map(([, key = '', each = '']) => [key, each])),
        value: Number(value),
      },
    ];
  });
}
