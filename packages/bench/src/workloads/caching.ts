import { NAME_ENDS } from '@kube-dns/testkit';
import { OUR_DNSMASQ, type ServerTestbed } from '../load/server-testbed.js';
import type { Subject } from '../load/contest.js';
import type { LoadQuestion } from '../queries/question-file.js';
import { asPromised, ONLY_TRIAL, type Workload } from './workload.js';

const PROMISE = { rate: 1.3, echo: 1.2 };
const MISS_PART = 0.2;

/** Our dnsmasq and the real one with a large cache, in front of a server that answers every name. */
async function bothDnsmasqs(testbed: ServerTestbed): Promise<readonly Subject[]> {
  const { port } = await testbed.nameServer();
  const args = ['--cache-size=10000', '--dns-forward-max=1500', `--server=127.0.0.1#${port}`];
  return [await testbed.ourDnsmasq(args), ...(await testbed.realDnsmasq({ args }))];
}

function questionsAbout(count: number, end: string): readonly LoadQuestion[] {
  return Array.from({ length: count }, (_, i) => ({ name: `host-${i}.${end}`, type: 'A' }));
}

/** Names that the cache has from the first round on. */
export const DNSMASQ_HITS: Workload = {
  name: 'dnsmasq-hits',
  summary: 'our dnsmasq and the real one answer 2,000 names from their caches',
  prepare: async (testbed, { names }) => ({
    subjects: await bothDnsmasqs(testbed),
    trials: [
      { name: ONLY_TRIAL, questions: questionsAbout(names, 'example'), rcodes: ['NOERROR'] },
    ],
  }),
  judge: (log) => asPromised(log, OUR_DNSMASQ, PROMISE),
};

/** One question in five has an answer that is not cacheable. */
export const EIGHTY_TWENTY: Workload = {
  name: 'eighty-twenty',
  summary: 'both: 80 % answers from the cache, 20 % from upstream',
  prepare: async (testbed, { names }) => {
    const misses = Math.round(names * MISS_PART);
    const questions = [
      ...questionsAbout(names - misses, 'example'),
      ...questionsAbout(misses, NAME_ENDS.uncached),
    ];
    return {
      subjects: await bothDnsmasqs(testbed),
      trials: [{ name: ONLY_TRIAL, questions, rcodes: ['NOERROR'] }],
    };
  },
  judge: () => [],
};
