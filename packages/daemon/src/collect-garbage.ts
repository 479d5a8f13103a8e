import { releaseFreeMemory } from '@kube-dns/transport';

/**
 * Collects all garbage and gives free pages back to the system, which takes 30 to 90 ms of CPU: for the moment when a
 * program is started and has not said yet that it is ready. `last-resort` because others keep what was compiled and is not
 * used now. Does nothing where Node was started without `--expose-gc`, which the images set.
 */
export function collectGarbage(): void {
  const collect = globalThis.gc;
  if (collect === undefined) return;
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  releaseFreeMemory();
}
