import type { Side, Way } from './asking/way.js';
import type { LogLines } from './questions/query-log.js';
import type { Tally } from './verdict/tally.js';

/** A complete run: what every report shows. */
export interface Result {
  readonly startedAt: Date;
  /** As in the flags. */
  readonly servers: Readonly<Record<Side, string>>;
  /** The API server that the objects were read from. */
  readonly api: string | undefined;
  readonly ways: readonly Way[];
  readonly rate: number;
  readonly seconds: number;
  readonly notes: readonly string[];
  readonly logs: readonly LogLines[];
  readonly tally: Tally;
}
