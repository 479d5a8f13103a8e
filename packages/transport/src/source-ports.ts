import { randomInt } from 'node:crypto';

/** The source ports of queries. */
export interface SourcePorts {
  /** One port for all queries (0: the system chooses it), instead of changing ports. */
  readonly fixed?: number;
  /** Ports are drawn at random from this range; without one the system chooses. */
  readonly min?: number;
  readonly max?: number;
}

/** dnsmasq's own bounds where only one is given (src/option.c). */
const LOWEST_PORT = 1024;
const HIGHEST_PORT = 65_535;
/** This many ports of a range are tried before a query is not sent. */
const MAX_TRIES = 64;

/**
 * The ports to try for one more socket, in order. From a range they start at a random place and wrap
 * around, so that every free port of a small range is found.
 */
export function* portsToTry({ fixed, min, max }: SourcePorts): Generator<number> {
  if (fixed !== undefined || (min === undefined && max === undefined)) {
    yield fixed ?? 0;
    return;
  }
  const highest = max ?? HIGHEST_PORT;
  const lowest = Math.min(min ?? LOWEST_PORT, highest);
  const size = highest - lowest + 1;
  const start = randomInt(size);
  for (let i = 0; i < Math.min(size, MAX_TRIES); i++) yield lowest + ((start + i) % size);
}
