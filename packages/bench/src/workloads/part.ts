import type { CorePlan, Owned } from '@kube-dns/testkit';
import type { Programs } from '../load/server-testbed.js';
import type { Series } from '../load/series.js';
import type { WarmUpPlan } from '../load/warm-up.js';

/** What every part of a measurement has. */
export interface MeasureContext {
  readonly cores: CorePlan | undefined;
  readonly owned: Owned;
  readonly progress: (text: string) => void;
  readonly note: (text: string) => void;
  readonly series: Series;
  readonly runs: number;
  readonly seconds: number;
}

/** What a part beside the workloads is measured with. */
export interface PartContext extends MeasureContext {
  readonly programs: Programs;
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
