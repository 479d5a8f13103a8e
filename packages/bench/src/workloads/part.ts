import type { CorePlan, Owned } from '@kube-dns/testkit';
import type { Programs } from '../load/server-testbed.js';
import type { Series } from '../load/series.js';
import type { WarmUpPlan } from '../load/warm-up.js';

/** What a part is measured with. */
export interface PartContext {
  readonly programs: Programs;
  readonly cores: CorePlan | undefined;
  readonly owned: Owned;
  readonly progress: (text: string) => void;
  readonly note: (text: string) => void;
  readonly series: Series;
  readonly runs: number;
  readonly seconds: number;
  /** Different names. */
  readonly names: number;
  /** Of each process, before it is measured. */
  readonly warmUp: WarmUpPlan;
  /** Seconds without a question until memory is read once more; 0: it is not. */
  readonly idleSeconds: number;
  /** Thousandths of a CPU. */
  readonly quotas: readonly number[];
}

/** A measurement beside the workloads, whose table has a row for each figure. */
export interface Part {
  readonly name: string;
  readonly summary: string;
  readonly measure: (context: PartContext) => Promise<void>;
}
