import type { Verb } from '../switches.js';
import { versionOfList } from './list.js';
import { parseListOptions, readVersion } from './query.js';

/** The version that the answer to a read must have at least, which may be yet to come; 0: any. */
export function requiredVersion(verb: Verb, query: URLSearchParams): number {
  if (verb === 'get') return readVersion(query, false) ?? 0;
  if (verb === 'list') return versionOfList(parseListOptions(query));
  if (verb !== 'watch') return 0;
  const { sendsInitialEvents, resourceVersion = 0 } = parseListOptions(query, true);
  // Another watch waits for later events itself.
  return sendsInitialEvents ? resourceVersion : 0;
}
