import type { Flight } from './flight.js';

/** What the table of flights has set of one. */
export abstract class TableEntry {
  /** The address of the client that holds the place; empty for the program itself. */
  client = '';
  /** Its index in the list of the table; -1 for one that is in none. */
  place = -1;
  /** The next one of the same bucket. */
  next: Flight | undefined;
  /** Whether the group counts it. */
  isCounted = false;
  /** It waits to be sent. */
  isQueued = false;
  /** There were others of its question when it was added. */
  hasSibling = false;
}
