import { createHash } from 'node:crypto';
import {
  changedOf,
  CLUSTER_VERSION_BYTES,
  IDENTITY_BYTES,
  randomBytes,
  seenOf,
  setChanged,
  setKnown,
  setSeen,
} from '@kube-dns/wire';

/** Takes the resourceVersions of one resource. */
export interface VersionListener {
  /** An object with this version is applied, perhaps one of a list that is not complete. */
  readonly onObject: (version: string) => void;
  /** What a list with this version does not have is deleted. */
  readonly onList: (version: string) => void;
  /** Every change up to this version is applied. */
  readonly onKnown: (version: string) => void;
  /** The UID of the object that shows which cluster it is was seen, '' when it was deleted. */
  readonly onIdentity: (uid: string) => void;
}

/** Where the numbers of a resource are in a version. */
const RESOURCES = ['services', 'endpoints', 'namespaces'] as const;
type Resource = (typeof RESOURCES)[number];
/** Raised where answers are made of the same objects in another way than in the release before. */
const ANSWERS = 1;
const POSITIVE_DECIMAL = /^[1-9]\d{0,15}$/;

/**
 * The version of the cluster that the records have, in numbers that all replicas count alike: see CLUSTER_VERSION_BYTES.
 * There is none while the API server's versions cannot be compared: they are not decimal numbers above 0 (KEP-5504) and
 * below 2^53, or the object that shows which cluster it is was not seen.
 */
export class ClusterVersion {
  readonly #bytes = new Uint8Array(CLUSTER_VERSION_BYTES);
  /** What answers depend on beside the objects of the API. */
  readonly #parts = new Map<string, string>();
  /** Whether the identity is that of the parts. */
  #isIdentityKnown = false;
  #endpointsFrom = '';
  #isComparable = true;
  #isIdentified = false;

  /** `shape`: what shapes answers for as long as this process runs. */
  constructor(shape: readonly unknown[] = []) {
    this.depend('shape', JSON.stringify([ANSWERS, ...shape]));
  }

  /** The same bytes each time, which change with the records; undefined while versions cannot be compared. */
  get bytes(): Uint8Array | undefined {
    if (!this.#isIdentityKnown) this.#identify();
    return this.#isComparable && this.#isIdentified ? this.#bytes : undefined;
  }

  /** Answers depend on this value: with another one they are not compared with those before. */
  depend(part: string, value: string): void {
    if (this.#parts.get(part) === value) return;
    this.#parts.set(part, value);
    this.#isIdentityKnown = false;
  }

  #identify(): void {
    const parts = JSON.stringify([...this.#parts].sort());
    this.#bytes.set(createHash('sha256').update(parts).digest().subarray(0, IDENTITY_BYTES));
    this.#isIdentityKnown = true;
  }

  /**
   * The cluster was restored: its versions are lower now, and other replicas may not know that yet. This process is compared
   * with no other one any more.
   */
  restore(): void {
    this.depend('restored', Buffer.from(randomBytes(IDENTITY_BYTES)).toString('hex'));
    this.forget();
  }

  /** What was known is of no cluster that was reached: it is counted anew, and can be compared. */
  forget(): void {
    for (const resource of RESOURCES) this.clear(resource);
  }

  /** Nothing is known of a resource. */
  clear(resource: Resource): void {
    const at = RESOURCES.indexOf(resource);
    for (const set of [setKnown, setSeen, setChanged]) set(this.#bytes, at, 0);
  }

  /** The endpoints come from this resource, which is at a version, and from no other one. */
  useEndpoints(from: 'endpoints' | 'endpointslices', version: string): void {
    this.#endpointsFrom = from;
    this.depend('endpoints', from);
    this.clear('endpoints');
    const { onList, onKnown } = this.listenerOf('endpoints', from);
    onList(version);
    onKnown(version);
  }

  listenerOf(resource: Resource, from = ''): VersionListener {
    const take = (version: string, use: (number: number) => void) => {
      if (from !== '' && from !== this.#endpointsFrom) return;
      const number = Number(version);
      if (POSITIVE_DECIMAL.test(version) && Number.isSafeInteger(number)) use(number);
      else this.#isComparable = false;
    };
    const bytes = this.#bytes;
    const at = RESOURCES.indexOf(resource);
    return {
      onObject: (version) =>
        take(version, (number) => {
          // Those of a list come in any order.
          setSeen(bytes, at, Math.max(seenOf(bytes, 0, at), number));
          setChanged(bytes, at, Math.max(changedOf(bytes, 0, at), number));
        }),
      onList: (version) => take(version, (number) => setChanged(bytes, at, number)),
      onKnown: (version) => take(version, (number) => setKnown(bytes, at, number)),
      onIdentity: (uid) => {
        // The service `kubernetes`; other objects of that name can be created again.
        if (resource !== 'services') return;
        this.#isIdentified = uid !== '';
        this.depend('cluster', uid);
      },
    };
  }
}
