import { NAME_ENDS } from '@kube-dns/testkit';
import type { Subject, Trial } from '../load/contest.js';
import type { ScoreLog } from '../load/score-log.js';
import { COREDNS, DNSMASQ, OUR_DNSMASQ, type ServerTestbed } from '../load/server-testbed.js';
import { namesBelow, namesOfLength } from '../queries/question-file.js';
import {
  asPromised,
  type Judged,
  nearEcho,
  ONLY_TRIAL,
  perCpuSecond,
  type Workload,
} from './workload.js';

const PROMISE = { rate: 1.3, echo: 1.2 };
const COREDNS_RATIO = 2.4;
const MISS_PART = 0.2;
/** No answer leaves the cache in the middle of a run. */
const CACHE_SECONDS = 3_600;
const SOCKETS = [4, 400] as const;
const LENGTHS = ['one', 'many'] as const;

/** Servers with a large cache in front of a name server that answers every name. */
async function cachesOf(testbed: ServerTestbed, knownName: string): Promise<readonly Subject[]> {
  const { port } = await testbed.nameServer();
  const args = ['--cache-size=10000', '--dns-forward-max=1500', `--server=127.0.0.1#${port}`];
  const directives = [`forward . 127.0.0.1:${port}`, `cache ${CACHE_SECONDS}`];
  return [
    await testbed.ourDnsmasq(args),
    ...(await testbed.realDnsmasq({ args })),
    ...(await testbed.cachesWith({ knownName, directives })),
  ];
}

/** Few clients and many, names of one length and of many: what joins datagrams profits from few and one. */
function trialsOf(names: number): readonly Trial[] {
  return SOCKETS.flatMap((sockets) =>
    LENGTHS.map((length) => ({
      name: `${sockets} sockets, ${length} length${length === 'many' ? 's' : ''}`,
      questions: namesOfLength(length, 'example', names),
      rcodes: ['NOERROR'] as const,
      sockets,
    })),
  );
}

const TRIAL_NAMES = trialsOf(0).map(({ name }) => name);
const [MAIN_TRIAL = ''] = TRIAL_NAMES;

function judge(log: ScoreLog): readonly Judged[] {
  const p999Ms = (subject: string) => log.median('p999Ms', subject, MAIN_TRIAL);
  const tail = {
    name: `p99.9, ${OUR_DNSMASQ}, ${MAIN_TRIAL}`,
    value: p999Ms(OUR_DNSMASQ),
    unit: 'ms',
    bar: { atMost: p999Ms(DNSMASQ) },
    spread: log.range('p999Ms', OUR_DNSMASQ, MAIN_TRIAL),
  };
  return [
    ...asPromised(log, OUR_DNSMASQ, PROMISE, MAIN_TRIAL),
    ...TRIAL_NAMES.slice(1).flatMap((trial) => nearEcho(log, OUR_DNSMASQ, PROMISE.echo, trial)),
    ...perCpuSecond(log, OUR_DNSMASQ, COREDNS, COREDNS_RATIO, MAIN_TRIAL),
    ...(log.has(DNSMASQ) && !Number.isNaN(tail.value) ? [tail] : []),
  ];
}

/** Names that the cache has from the first round on. */
export const HITS: Workload = {
  name: 'hits',
  summary:
    'our dnsmasq and its peers answer 2,000 names from their caches, to few clients and many',
  prepare: async (testbed, { names }) => {
    const trials = trialsOf(names);
    return { subjects: await cachesOf(testbed, trials[0]!.questions[0]!.name), trials };
  },
  judge,
};

/** One question in five has an answer that is not cacheable. */
export const EIGHTY_TWENTY: Workload = {
  name: 'eighty-twenty',
  summary: 'the same: 80 % answers from the cache, 20 % from upstream',
  prepare: async (testbed, { names }) => {
    const misses = Math.round(names * MISS_PART);
    const questions = [
      ...namesBelow('example', names - misses),
      ...namesBelow(NAME_ENDS.uncached, misses),
    ];
    return {
      subjects: await cachesOf(testbed, questions[0]!.name),
      trials: [{ name: ONLY_TRIAL, questions, rcodes: ['NOERROR'] }],
    };
  },
  judge: () => [],
};
