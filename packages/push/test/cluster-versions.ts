import { CLUSTER_VERSION_BYTES, setChanged, setKnown, setSeen } from '@kube-dns/wire';

/** The version of a cluster whose resources are all at this number, or each at its own; nothing has changed after `changed`. */
export function clusterVersion(
  known: number | readonly number[],
  { identity = 1, changed = known, seen = changed } = {},
): Uint8Array {
  const version = new Uint8Array(CLUSTER_VERSION_BYTES).fill(identity, 0, 8);
  const set = (write: typeof setKnown, numbers: number | readonly number[]) => {
    for (let i = 0; i < 3; i++)
      write(version, i, typeof numbers === 'number' ? numbers : numbers[i]!);
  };
  set(setKnown, known);
  set(setSeen, seen);
  set(setChanged, changed);
  return version;
}
