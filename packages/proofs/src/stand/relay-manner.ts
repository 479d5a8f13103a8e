/** What a relay does with each datagram, in both directions; of TCP only the delay counts. */
export interface RelayManner {
  readonly delayMs: number;
  /** Up to so much more, by chance: those of close times change places. */
  readonly jitterMs: number;
  /** When, after it was passed on, it is passed on again: once for each entry. */
  readonly copiesAfterMs: readonly number[];
}

/** What a relay has done so far. */
export interface RelayFigures {
  /** Datagrams that came, in both directions. */
  readonly datagrams: number;
  /** Those of them that were passed on after one that had come later. */
  readonly overtaken: number;
  /** Passed on once more. */
  readonly copies: number;
}

/** Passes everything on as it comes. */
export const PLAIN: RelayManner = { delayMs: 0, jitterMs: 0, copiesAfterMs: [] };
