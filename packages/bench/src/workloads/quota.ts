import { cpuUsage, MeasureError, monotonicMs, Owned } from '@kube-dns/testkit';
import { ControlGroup } from '../control-group.js';
import { LoadTestbed, OUR_DNSMASQ } from '../load/testbed.js';
import type { Subject } from '../load/scores.js';
import { coldNote, warmUp } from '../load/run-contest.js';
import { type LoadQuestion, namesBelow } from '../queries.js';
import type { Part, PartContext } from './workload.js';
import { serviceCluster, serviceQuestions } from './workloads.js';

const CLIENTS = 50;
/** dnsmasq, CoreDNS, node-cache. */
const MAX_PEERS = 3;
/** The bar of the hits is for this quota, and that of the first answer for the other. */
const HITS_MILLI_CPUS = 50;
const HITS_PER_SECOND = 6_000;
const START_MILLI_CPUS = 100;
const START_SECONDS = 3;

/** A server that can be started under a quota. */
interface Limited {
  readonly name: string;
  /** `through` becomes the server. */
  readonly start: (testbed: LoadTestbed, through: readonly string[]) => Promise<Subject>;
  readonly questions: readonly LoadQuestion[];
}

/** A container of ours starts under the quota, is warm without it, and answers under it. */
async function measureOurs(
  context: PartContext,
  limited: Limited,
  milliCpus: number,
): Promise<void> {
  const { series, owned } = context;
  const own = owned.add(new Owned());
  const group = groupFor(own);
  group.limitCpu(milliCpus);
  const testbed = new LoadTestbed({ ...context, owned: own });
  const startMs = monotonicMs();
  const subject = await limited.start(testbed, group.entrance);
  const what = `${limited.name}, ${milliCpus}m`;
  const bar = milliCpus === START_MILLI_CPUS ? { bar: { atMost: START_SECONDS } } : {};
  const kind = { unit: 's', digits: 2 };
  series.add(`${what}: first answer after`, (monotonicMs() - startMs) / 1_000, { ...kind, ...bar });
  const { userMs, systemMs } = cpuUsage(subject.pid);
  series.add(`${what}: CPU until then`, (userMs + systemMs) / 1_000, kind);
  await measureHits(context, { testbed, group, subject, ...limited, answers: 0 }, milliCpus);
  await own.close();
}

interface Measured {
  readonly name: string;
  readonly testbed: LoadTestbed;
  readonly group: ControlGroup;
  readonly subject: Subject;
  readonly questions: readonly LoadQuestion[];
  /** Of this process, in all its warm-ups. */
  answers: number;
}

/** Each process has given as many answers without the limit before it is measured, whether new or not. */
async function measureHits(
  { series, seconds, warmUp: plan, note }: PartContext,
  measured: Measured,
  milliCpus: number,
): Promise<void> {
  const { name, testbed, group, subject, questions, answers: before } = measured;
  const clients = { clients: CLIENTS, outstanding: CLIENTS };
  const load = { file: testbed.questionFile(questions), ...clients };
  group.limitCpu(undefined);
  const ask = async (atMost: number, passes: number | undefined) => {
    const limits = { seconds: atMost, ...(passes !== undefined && { passes }) };
    return (await testbed.dnsperf(subject, { ...load, ...limits })).completed;
  };
  measured.answers = await warmUp(ask, plan, { questions: questions.length, before });
  const cold = coldNote(plan, measured.answers);
  if (cold !== undefined) note(`${name}, ${milliCpus}m: ${cold}`);
  group.limitCpu(milliCpus);
  const { queriesPerSecond, lost } = await testbed.dnsperf(subject, { ...load, seconds });
  subject.check();
  const isJudged = name === OUR_DNSMASQ && milliCpus === HITS_MILLI_CPUS;
  const what = `${name}, ${milliCpus}m`;
  series.add(`${what}: hits`, queriesPerSecond, {
    unit: 'queries/s',
    ...(isJudged && { bar: { atLeast: HITS_PER_SECOND } }),
  });
  series.add(`${what}: timed out`, lost, {
    unit: '',
    judged: 'max',
    ...(isJudged && { bar: { atMost: 0 } }),
  });
}

/** Throws a MeasureError where there can be none. */
function groupFor(own: Owned): ControlGroup {
  const group = ControlGroup.create('bench-quota', 'cpu');
  if (typeof group === 'string') throw new MeasureError(group);
  return own.add(group);
}

async function measure(context: PartContext): Promise<void> {
  const { owned, runs, quotas, names, progress, note } = context;
  const tried = ControlGroup.create('bench-quota', 'cpu');
  if (typeof tried === 'string') {
    note(`Nothing was measured under a quota: ${tried}`);
    return;
  }
  await tried.close();
  const own = owned.add(new Owned());
  // Before the peers: a group can only be removed when its processes have ended.
  const groups = Array.from({ length: MAX_PEERS }, () => groupFor(own));
  const testbed = new LoadTestbed({ ...context, owned: own });
  const { servers } = testbed;
  const { port } = await servers.nameServer();
  const cluster = await serviceCluster(servers, { names });
  const hits = namesBelow('example', names);
  const args = ['--cache-size=10000', '--dns-forward-max=1500', `--server=127.0.0.1#${port}`];
  const directives = [`forward . 127.0.0.1:${port}`, 'cache 3600'];
  const ours: readonly Limited[] = [
    {
      name: OUR_DNSMASQ,
      start: ({ servers: mine }, through) => mine.ourDnsmasq(args, { through }),
      questions: hits,
    },
    {
      name: 'our kubedns',
      start: ({ servers: mine }, through) => mine.kubedns(cluster, { through }),
      questions: serviceQuestions(cluster.plan),
    },
  ];
  const peers = [
    ...(await servers.realDnsmasq({ args })),
    ...(await servers.cachesWith({ knownName: hits[0]!.name, directives })),
  ].map((subject, i) => {
    const group = groups[i]!;
    group.add(subject.pid);
    return { name: subject.name, testbed, group, subject, questions: hits, answers: 0 };
  });
  for (let run = 1; run <= runs; run++) {
    for (const milliCpus of quotas) {
      const tell = (name: string) => progress(`run ${run} of ${runs}: ${milliCpus}m CPU, ${name}`);
      for (const limited of ours) {
        tell(limited.name);
        await measureOurs(context, limited, milliCpus);
      }
      for (const peer of peers) {
        tell(peer.name);
        await measureHits(context, peer, milliCpus);
      }
    }
  }
  await own.close();
}

/** What is left of a server with a small part of a CPU. */
export const QUOTA: Part = {
  name: 'quota',
  summary: 'the first answer and hits from 50 clients with 25, 50 and 100 thousandths of a CPU',
  measure,
};
