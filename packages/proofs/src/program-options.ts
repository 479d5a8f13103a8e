import { PROGRAM_OPTIONS as BENCH_OPTIONS, wordsOption } from '@kube-dns/testkit';

/** The options of every proof that starts containers: each has the flags of its own image. */
export const PROGRAM_OPTIONS = {
  ...BENCH_OPTIONS,
  'node-flags': wordsOption([], 'flags of this Node, after those of the images'),
};
