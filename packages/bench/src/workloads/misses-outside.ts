import { COREDNS, DNSMASQ, OUR_DNSMASQ, type ServerTestbed } from '../load/server-testbed.js';
import type { Contest } from '../load/contest.js';
import type { ScoreLog } from '../load/score-log.js';
import { namesBelow } from '../queries/question-file.js';
import { type Judged, ONLY_TRIAL, perCpuSecond, type Workload } from './workload.js';

const TWO_ECHOES_RATIO = 1.25;
const PEER_RATIO = 2;
const ARGS = ['--cache-size=0', '--dns-forward-max=1500'] as const;

async function prepare(
  testbed: ServerTestbed,
  { names }: { readonly names: number },
): Promise<Contest> {
  const outside = await testbed.outside();
  const { address, port, behind, loopbackReason } = outside;
  const questions = namesBelow('example', names);
  const args = [...ARGS, `--server=${address}#${port}`];
  const directives = [`forward . ${address}:${port}`];
  const subjects = [
    await testbed.ourDnsmasq(args),
    ...(await testbed.realDnsmasq({ args })),
    ...(await testbed.corednsWith({ knownName: questions[0]!.name, directives })),
    await testbed.relay(outside),
  ];
  const reason = `the name server was on loopback: ${loopbackReason}`;
  return {
    subjects: subjects.map((subject) => ({ ...subject, behind })),
    trials: [{ name: ONLY_TRIAL, questions, rcodes: ['NOERROR'] }],
    notes: loopbackReason === undefined ? [] : [reason],
  };
}

function judge(log: ScoreLog): readonly Judged[] {
  const { min, median, max } = log.timesEcho(OUR_DNSMASQ, ONLY_TRIAL);
  const spread = { min: min / 2, median: median / 2, max: max / 2 };
  const name = `CPU/query, ${OUR_DNSMASQ} / two echoes`;
  return [
    { name, value: spread.median, unit: '×', bar: { atMost: TWO_ECHOES_RATIO }, spread },
    ...perCpuSecond(log, OUR_DNSMASQ, DNSMASQ, PEER_RATIO),
    ...perCpuSecond(log, OUR_DNSMASQ, COREDNS, PEER_RATIO),
  ];
}

/** Every question is forwarded over a network to a name server that costs next to nothing. */
export const MISSES_OUTSIDE: Workload = {
  name: 'misses-outside',
  summary: 'our dnsmasq and its peers without a cache, in front of a name server elsewhere',
  prepare,
  judge,
};
