import { ZONE } from '../cluster/cluster-plan.js';
import type { Subject } from '../load/contest.js';
import type { ScoreLog } from '../load/score-log.js';
import {
  COREDNS,
  DNSMASQ,
  OUR_DNSMASQ,
  type ServerTestbed,
  type TestbedCluster,
} from '../load/server-testbed.js';
import { serviceCluster, servicesTrial } from './services.js';
import { type Judged, ONLY_TRIAL, perCpuSecond, type Workload } from './workload.js';

const DNSMASQ_RATIO = 3;
const COREDNS_RATIO = 4;
/** CPU of kubedns for each answer of the dnsmasq in front of it. */
const KUBEDNS_US = 4;
/** More than are ever in flight; the real one would refuse at 150. */
const ARGS = ['--cache-size=0', '--dns-forward-max=1500'] as const;
const GO_POD = 'dnsmasq + kube-dns';

function serverFor({ port }: Subject): string {
  return `--server=/${ZONE}/127.0.0.1#${port}`;
}

async function subjectsOf(
  testbed: ServerTestbed,
  cluster: TestbedCluster,
  knownName: string,
): Promise<readonly Subject[]> {
  const kubedns = await testbed.kubedns(cluster, { isUpstream: true });
  const args = [...ARGS, serverFor(kubedns)];
  const directives = [`forward . 127.0.0.1:${kubedns.port}`];
  const subjects = [
    await testbed.ourDnsmasq(args),
    ...(await testbed.realDnsmasq({ args })),
    ...(await testbed.corednsWith({ knownName, directives })),
  ].map((subject) => ({ ...subject, behind: kubedns }));
  for (const kubeDns of await testbed.kubeDns(cluster, { knownName }, { isUpstream: true })) {
    const pod = await testbed.realDnsmasq({ args: [...ARGS, serverFor(kubeDns)] });
    subjects.push(...pod.map((subject) => ({ ...subject, name: GO_POD, behind: kubeDns })));
  }
  return subjects;
}

function judge(log: ScoreLog): readonly Judged[] {
  const behind = log.range('behindUs', OUR_DNSMASQ, ONLY_TRIAL);
  return [
    ...perCpuSecond(log, OUR_DNSMASQ, DNSMASQ, DNSMASQ_RATIO),
    ...perCpuSecond(log, OUR_DNSMASQ, COREDNS, COREDNS_RATIO),
    {
      name: 'CPU of kubedns for each answer',
      value: behind.median,
      unit: 'µs',
      bar: { atMost: KUBEDNS_US },
      spread: behind,
    },
  ];
}

/** Every question is forwarded to the same kubedns, which shares a core with the load where there are two. */
export const MISSES_ZONE: Workload = {
  name: 'misses-zone',
  summary: 'our dnsmasq and its peers without a cache, in front of the same kubedns',
  prepare: async (testbed, size) => {
    const cluster = await serviceCluster(testbed, size);
    const trial = servicesTrial(cluster.plan);
    const subjects = await subjectsOf(testbed, cluster, trial.questions[0]!.name);
    return { subjects, trials: [trial] };
  },
  judge,
};
