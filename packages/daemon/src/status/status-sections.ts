/** The value of a fact; null where there is none. */
export type StatusValue = string | number | boolean | null;

/**
 * One fact per key, which is its name in `/status` and, in words, on the page. The end of a key says what the value is:
 * `uptimeSeconds`, `rttMs`, `heapBytes`, `hitPercent` are numbers, which the page shows in larger units; `startedAt` is
 * the text of `Date.toISOString`; `isLive` is a boolean.
 */
export type StatusFacts = Readonly<Record<string, StatusValue>>;

/**
 * The sections of a status page by title, in order: facts, or rows with the same keys. Of more than 100 rows the page
 * says how many more there are, so the important ones are the first. Texts may be from anywhere, keys and titles not.
 */
export type StatusSections = Readonly<Record<string, StatusFacts | readonly StatusFacts[]>>;
