import { randomInt } from 'node:crypto';

/** From which ports queries leave. */
export interface SourcePorts {
  /** One port for all queries (0: one that the system chooses), instead of ever new ones. */
  readonly fixed?: number;
  /** Ports are drawn between these; without them the system draws. */
  readonly min?: number;
  readonly max?: number;
}

/** dnsmasq's own bounds where only one is given (src/option.c). */
const LOWEST_PORT = 1024;
const HIGHEST_PORT = 65_535;
/** As many ports of a range are tried before a query goes unsent. */
const MAX_TRIES = 64;

/**
 * The ports to try for one more socket, in order. From a range they start at a random place and go
 * round, so that in a small one whatever is free is found.
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
