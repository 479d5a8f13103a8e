/**
 * Where an answer came from. `NONE`: there was no answer. `ZONE`: the records of a zone that this program serves.
 * `LOCAL`: made here, from configured data or as a refusal. `CACHE`, and `STALE` when it has expired. `UPSTREAM`: a
 * server was asked for it, also in vain. `JOINED`: it was asked for another client, too.
 */
export const SOURCE = {
  NONE: 0,
  ZONE: 1,
  LOCAL: 2,
  CACHE: 3,
  STALE: 4,
  UPSTREAM: 5,
  JOINED: 6,
} as const;
export type AnswerSource = (typeof SOURCE)[keyof typeof SOURCE];

/** The sources' names, as logs and metrics have them. */
export const SOURCE_NAMES = [
  'none',
  'zone',
  'local',
  'cache',
  'stale',
  'upstream',
  'joined',
] as const;
