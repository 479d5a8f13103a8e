import {
  type Bar,
  PROGRAM_OPTIONS as BENCH_OPTIONS,
  switchOption,
  wordsOption,
} from '@kube-dns/testkit';

/** The options of every proof that starts containers: each has the flags of its own image. */
export const PROGRAM_OPTIONS = {
  ...BENCH_OPTIONS,
  'node-flags': wordsOption([], 'flags of this Node, after those of the images'),
};

/** The option of every proof that judges figures of a quiet machine. */
export const BUSY_OPTION = {
  busy: switchOption(
    'the machine has other work: no bar for time, rates, CPU, memory or what is lost',
  ),
};

/** A bar that only a quiet machine can reach; undefined with `--busy`. */
export function quietBar<B extends Bar | number>(
  { busy }: { readonly busy: boolean },
  bar: B,
): B | undefined {
  return busy ? undefined : bar;
}
