import { type Bar, switchOption } from '@kube-dns/testkit';

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
