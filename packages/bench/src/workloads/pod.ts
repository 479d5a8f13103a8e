import type { Subject } from '../load/contest.js';
import type { ScoreLog } from '../load/score-log.js';
import { COREDNS, OUR_DNSMASQ, type ServerTestbed } from '../load/server-testbed.js';
import type { LoadQuestion } from '../queries/question-file.js';
import { realStockArguments } from '../servers/stock-arguments.js';
import { serviceCluster } from './services.js';
import { fasterThanDnsmasq, type Judged, perCpuSecond, type Workload } from './workload.js';

/** The domains that a pod's resolver appends to a name with fewer than five dots, before it tries the name. */
export const SEARCH_DOMAINS = {
  /** As kubelet writes them. */
  cluster: ['team-000.svc.cluster.local', 'svc.cluster.local', 'cluster.local'],
  /** The last one is of the node, and no server tells its changes. */
  cloud: [
    'team-000.svc.cluster.local',
    'svc.cluster.local',
    'cluster.local',
    'region.compute.internal',
  ],
} as const;

const LOOKUPS = 'search path';
const CLOUD_LOOKUPS = "search path with a node's domain";
const HITS = 'plain hits';
/** With all answers of all trials in the cache of the manifest, of 1,000. */
const MAX_NAMES = 300;
const DNSMASQ_RATIO = 1.2;
/** As with plain hits: both answer out of a cache. */
const COREDNS_RATIO = 2.4;
const HITS_RATIO = 1.1;

function bothFamilies(name: string): readonly LoadQuestion[] {
  return ['A', 'AAAA'].map((type) => ({ name, type }));
}

/** What a pod asks when it looks up names of the world with `ndots:5`: all but the last name do not exist. */
export function searchPathQuestions(
  questions: number,
  domains: readonly string[],
): readonly LoadQuestion[] {
  const lookups = Math.ceil(questions / (domains.length + 1) / 2);
  return Array.from({ length: lookups }, (_, i) => `host-${i}.example`).flatMap((name) => [
    ...domains.flatMap((domain) => bothFamilies(`${name}.${domain}`)),
    ...bothFamilies(name),
  ]);
}

/** Names of the world that are as long as those with a search domain: a longer name costs more. */
function hitQuestions(questions: number): readonly LoadQuestion[] {
  const end = 'example.team-000.svc.cluster.world';
  const names = Array.from({ length: Math.ceil(questions / 2) }, (_, i) => `site-${i}.${end}`);
  return names.flatMap(bothFamilies);
}

async function subjectsOf(testbed: ServerTestbed, names: number): Promise<readonly Subject[]> {
  const cluster = await serviceCluster(testbed, { names });
  const { port } = await testbed.nameServer();
  const world = `--server=127.0.0.1#${port}`;
  const { kubedns, dnsmasq } = await testbed.pod(cluster, [world]);
  const args = [...realStockArguments(kubedns.port), world];
  const knownName = cluster.plan.dnsName(0);
  return [
    dnsmasq,
    ...(await testbed.realDnsmasq({ args })),
    ...(await testbed.coredns(cluster, { knownName, stock: { upstreamPort: port } })),
  ];
}

function judge(log: ScoreLog): readonly Judged[] {
  const perQuery = log.ratioOfTrials('cpuUs', OUR_DNSMASQ, LOOKUPS, HITS);
  const judged: Judged[] = [
    ...fasterThanDnsmasq(log, OUR_DNSMASQ, DNSMASQ_RATIO, LOOKUPS),
    {
      name: `CPU/query, ${OUR_DNSMASQ}, ${LOOKUPS} / ${HITS}`,
      value: perQuery.median,
      unit: '×',
      bar: { atMost: HITS_RATIO },
      spread: perQuery,
    },
  ];
  return [...judged, ...perCpuSecond(log, OUR_DNSMASQ, COREDNS, COREDNS_RATIO, LOOKUPS)];
}

/** Mostly negative answers, with the arguments of the manifest. */
export const POD: Workload = {
  name: 'pod',
  summary:
    'four names for each lookup, three of which do not exist, with the arguments of the manifest',
  prepare: async (testbed, { names }) => {
    const count = Math.min(names, MAX_NAMES);
    const lookups = { rcodes: ['NOERROR', 'NXDOMAIN'] } as const;
    return {
      subjects: await subjectsOf(testbed, count),
      trials: [
        {
          ...lookups,
          name: LOOKUPS,
          questions: searchPathQuestions(count, SEARCH_DOMAINS.cluster),
        },
        { name: HITS, questions: hitQuestions(count), rcodes: ['NOERROR'] as const },
        {
          ...lookups,
          name: CLOUD_LOOKUPS,
          questions: searchPathQuestions(count, SEARCH_DOMAINS.cloud),
        },
      ],
    };
  },
  judge,
};
