import {
  countOf,
  type EndpointGroup,
  type EndpointSlice,
  equalPorts,
} from '../watch/projections.js';

/** Maximum endpoints looked at for one change; where they do not suffice, it counts as a change. */
const MAX_STEPS = 20_000;

/**
 * Whether a service has other endpoints after one of its slices was replaced by another: an endpoint may be in
 * two slices at a time, and moves from one to the other without a change of any answer. `others` are the
 * other slices of the service.
 */
export function areEndpointsChanged(
  before: EndpointSlice | undefined,
  after: EndpointSlice | undefined,
  others: readonly EndpointSlice[],
): boolean {
  return !areAllIn(after, before, others) || !areAllIn(before, after, others);
}

/** Whether all endpoints of a slice are in `first`, which is likely, or in one of the others. */
function areAllIn(
  slice: EndpointSlice | undefined,
  first: EndpointSlice | undefined,
  others: readonly EndpointSlice[],
): boolean {
  if (slice === undefined || slice.groups.length === 0) return true;
  const groups = [first?.groups ?? [], ...others.map((other) => other.groups)].flat();
  const search = new EndpointSearch(groups);
  return slice.groups.every((group) => {
    for (let i = 0; i < countOf(group); i++) if (!search.finds(group, i)) return false;
    return true;
  });
}

/** Finds endpoints that are mostly in the order in which they are looked for. */
class EndpointSearch {
  readonly #groups: readonly EndpointGroup[];
  /** Behind the last one that was found. */
  #at = 0;
  #index = 0;
  #steps = 0;

  constructor(groups: readonly EndpointGroup[]) {
    this.#groups = groups;
  }

  /** Whether an endpoint is there, with its label and its ports; false when the search takes too long. */
  finds(group: EndpointGroup, endpoint: number): boolean {
    // The first group is searched twice: from the last place on, and from its beginning.
    for (let turns = 0; turns <= this.#groups.length; turns++) {
      const candidate = this.#groups[this.#at];
      if (candidate !== undefined && this.#findsIn(candidate, group, endpoint)) return true;
      if (this.#steps >= MAX_STEPS) return false;
      this.#at = (this.#at + 1) % this.#groups.length;
      this.#index = 0;
    }
    return false;
  }

  #findsIn(candidate: EndpointGroup, group: EndpointGroup, endpoint: number): boolean {
    const { ports, size } = candidate;
    if (size !== group.size || !(ports === group.ports || equalPorts(ports, group.ports))) {
      return false;
    }
    for (const count = countOf(candidate); this.#index < count && this.#steps < MAX_STEPS;) {
      this.#steps++;
      if (isSameEndpoint(candidate, this.#index++, group, endpoint)) return true;
    }
    return false;
  }
}

function isSameEndpoint(left: EndpointGroup, i: number, right: EndpointGroup, j: number): boolean {
  const { size } = left;
  for (let byte = 0; byte < size; byte++) {
    if (left.bytes.charCodeAt(i * size + byte) !== right.bytes.charCodeAt(j * size + byte)) {
      return false;
    }
  }
  return (left.labels?.[i] ?? '') === (right.labels?.[j] ?? '');
}
