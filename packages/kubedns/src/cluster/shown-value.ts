const MAX_CHARACTERS = 40;

/** A value of a server as JSON, cut, for the log. */
export function shownValue(value: unknown): string {
  return JSON.stringify(value).slice(0, MAX_CHARACTERS);
}
