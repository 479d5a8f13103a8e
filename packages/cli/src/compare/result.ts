import type { Side, Way } from './asking/way.js';
import type { LogLines } from './questions/query-log.js';
import type { Tally } from './verdict/tally.js';

/** A complete run: what every report shows. */
export interface Result {
  /** As in the flags. */
  readonly servers: Readonly<Record<Side, string>>;
  readonly ways: readonly Way[];
  readonly rate: number;
  readonly seconds: number;
  readonly notes: readonly string[];
  readonly logs: readonly LogLines[];
  readonly tally: Tally;
}
