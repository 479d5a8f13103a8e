import { SnapshotError, type SnapshotHeader } from '@kube-dns/daemon';
import {
  CLUSTER_VERSION_BYTES,
  hasSameIdentity,
  knownOf,
  VERSIONED_RESOURCES,
} from '@kube-dns/wire';
import { LineReader, Unread } from './json-stream.js';
import type { SnapshotState } from './list-watch.js';
import { OPTIONAL_RESOURCES } from './optional-watch.js';
import type { EndpointNames } from './projections.js';
import type { ApiObject } from './store.js';

/** Of the header: a snapshot of another program is not read. */
export const SNAPSHOT_KIND = 'kubedns';

/**
 * The resources of which a snapshot has objects: services, one of the two with endpoints, namespaces where they are listed, and
 * the optional ones that are watched.
 */
export const SNAPSHOT_RESOURCES = [
  'services',
  'endpointslices',
  'endpoints',
  'namespaces',
  ...OPTIONAL_RESOURCES,
] as const;
export type SnapshotResource = (typeof SNAPSHOT_RESOURCES)[number];

/** What the stored fields of objects depend on: with other flags a snapshot lacks some. */
export interface SnapshotShape {
  readonly endpointNames: EndpointNames;
  /** Sorted. */
  readonly hiddenNamespaces: readonly string[];
  /** Which names beside the zone the stored fields are enough for, sorted. */
  readonly namesBeside: readonly string[];
}

/** What a snapshot of the cluster says of itself. `writtenMs`: until then all that it has was known to be true. */
export interface ClusterHeader extends SnapshotHeader, SnapshotShape {
  /** The version of the cluster in hexadecimal, see CLUSTER_VERSION_BYTES; '' where versions cannot be compared. */
  readonly clusterVersion: string;
  readonly resources: Readonly<Partial<Record<SnapshotResource, SnapshotState>>>;
}

/** A snapshot that can be taken, and where it is from, as the log names it. */
export interface ClusterSnapshot {
  readonly header: ClusterHeader;
  /** Can be read once. */
  readonly lines: AsyncIterable<string>;
  readonly from: string;
}

const VERSION = /^[\x21-\x7e]{1,64}$/;
const MAX_UID = 128;
const HEX_VERSION = new RegExp(`^(?:[0-9a-f]{${2 * CLUSTER_VERSION_BYTES}})?$`);

/** Reads what a file or a replica gives as a header. Throws a SnapshotError for one that is none, or of other flags. */
export function readClusterHeader(header: SnapshotHeader, shape: SnapshotShape): ClusterHeader {
  const { kind, writtenMs } = header;
  const { endpointNames, hiddenNamespaces, namesBeside, clusterVersion, resources } =
    header as Partial<ClusterHeader>;
  const flags = [
    ['--endpoint-names', endpointNames, shape.endpointNames],
    ['--hidden-namespaces', hiddenNamespaces, shape.hiddenNamespaces],
    // Those of the release before have none.
    ['set of names beside the zone', namesBeside ?? [], shape.namesBeside],
  ] as const;
  for (const [flag, theirs, ours] of flags) {
    if (JSON.stringify(theirs) !== JSON.stringify(ours)) {
      throw new SnapshotError(`it was written with another ${flag}`);
    }
  }
  if (typeof clusterVersion !== 'string' || !HEX_VERSION.test(clusterVersion)) {
    throw new SnapshotError('its cluster version is none');
  }
  const states: Partial<Record<SnapshotResource, SnapshotState>> = {};
  for (const resource of SNAPSHOT_RESOURCES) {
    const state: unknown = (resources as Record<string, unknown> | null | undefined)?.[resource];
    if (state !== undefined) states[resource] = readState(resource, state);
  }
  const { services, endpointslices, endpoints } = states;
  if (services === undefined || (endpointslices === undefined) === (endpoints === undefined)) {
    throw new SnapshotError('it has not services and endpoints of one source');
  }
  return { kind, writtenMs, ...shape, clusterVersion, resources: states };
}

function readState(resource: string, state: unknown): SnapshotState {
  const { version, uid } = (state ?? {}) as Record<string, unknown>;
  if (typeof version !== 'string' || !VERSION.test(version)) {
    throw new SnapshotError(`its ${resource} have no version`);
  }
  if (typeof uid !== 'string' || uid.length > MAX_UID) {
    throw new SnapshotError(`its ${resource} have no UID`);
  }
  return { version, uid };
}

/**
 * Whether a snapshot is newer than another one: by the versions that replicas count alike, where both have them; else by the
 * time until which it was true.
 */
export function isNewer(header: ClusterHeader, other: ClusterHeader): boolean {
  const [version, before] = [header, other].map((each) => Buffer.from(each.clusterVersion, 'hex'));
  if (version!.length > 0 && before!.length > 0 && hasSameIdentity(version!, 0, before!)) {
    let isHigher = false;
    let isLower = false;
    for (let i = 0; i < VERSIONED_RESOURCES; i++) {
      const difference = knownOf(version!, 0, i) - knownOf(before!, 0, i);
      isHigher ||= difference > 0;
      isLower ||= difference < 0;
    }
    if (isHigher !== isLower) return isHigher;
  }
  return header.writtenMs > other.writtenMs;
}

/** A line of a snapshot: the resource, and an object with the fields that are stored of it. */
export function snapshotLine(resource: SnapshotResource, object: ApiObject): string {
  return JSON.stringify({ resource, object });
}

/** Reads the lines of a snapshot, as strictly as those of a watch. */
export class SnapshotLines {
  readonly #reader = new LineReader();

  /** Throws a SnapshotError or a StreamError for what is no line of a snapshot. */
  read(line: string): { resource: SnapshotResource; object: ApiObject } {
    const [value] = this.#reader.push(Buffer.from(`${line}\n`));
    if (value instanceof Unread) throw new SnapshotError(value.reason);
    const { resource, object } = (value ?? {}) as { resource?: unknown; object?: unknown };
    const known = SNAPSHOT_RESOURCES.find((each) => each === resource);
    if (known === undefined) throw new SnapshotError('it is of no resource');
    const { metadata } = (object ?? {}) as { metadata?: unknown };
    const { namespace, name } = (metadata ?? {}) as { namespace?: unknown; name?: unknown };
    const isNamespaced = known !== 'namespaces';
    if (typeof name !== 'string' || typeof namespace !== (isNamespaced ? 'string' : 'undefined')) {
      throw new SnapshotError(`it is no object of ${known}`);
    }
    return { resource: known, object: object as ApiObject };
  }
}
