import type { Trace } from '@kube-dns/base';
import type { AnswerWriter } from '@kube-dns/wire';

/**
 * Names that are not in the cluster's zone, and that kubedns answers from the cluster all the same: another zone, hosts of
 * other domains, reverse names. They are looked for when a name is not in the cluster's zone, and no address of the
 * cluster, and before it is forwarded. What other servers say about them is not believed.
 *
 * A source of such names is one entry of `namesBeside` (names-beside.ts), which also says what it reads of the API.
 */
export interface LocalNames {
  /**
   * Whether a lower-cased name in wire form is one of these, also where it does not exist; the other calls are about it
   * until the next one. It is called for each question that is not of the cluster's zone, and for the names in replies
   * of other servers: it must allocate nothing. It may note in the trace what it found.
   */
  find(name: Uint8Array, length: number, trace?: Trace): boolean;
  /**
   * Whether a lower-cased name that is none of these is above one of them: it exists, whatever another server says (RFC 4592
   * section 2.2.2). No name is unless given.
   */
  isAbove?(name: Uint8Array, length: number): boolean;
  /** Whether the objects behind the name that was found are known: else the answer is SERVFAIL, with EDE 14. */
  readonly isSynced: boolean;
  /** The CNAME target of the name in wire form, which is followed; undefined where it has none for this type. */
  targetOf(type: number): Uint8Array | undefined;
  /**
   * Writes the records of a type, or the negative answer with its SOA; the writer has begun. `owner`: the name as the CNAME
   * before it has it, where it is not that of the question.
   */
  answer(type: number, writer: AnswerWriter, owner?: Uint8Array): void;
  /** Of a name that stands for the first of several names that exists: these. Undefined for any other; there is none unless given. */
  candidates?(): Candidates | undefined;
}

/** The names that a name may stand for, in their order: the first that exists is the target of its CNAME, for every type. */
export interface Candidates {
  /** The next one that exists, or that other servers are asked for, in wire form; undefined after the last. */
  next(trace: Trace | undefined): Uint8Array | undefined;
  /** Whether other servers are asked for the last one: where it does not exist, the next one is tried. */
  readonly isUnknown: boolean;
  /** The TTL of the CNAME to the last one. */
  readonly ttlSeconds: number;
  /** Writes that none of them exists; the writer has begun. */
  deny(writer: AnswerWriter): void;
}

/** Several sources as one, the first that has a name; undefined where there is none. */
export function combineLocalNames(sources: readonly LocalNames[]): LocalNames | undefined {
  return sources.length > 1 ? new CombinedNames(sources) : sources[0];
}

class CombinedNames implements LocalNames {
  readonly #sources: readonly LocalNames[];
  #found!: LocalNames;

  constructor(sources: readonly LocalNames[]) {
    this.#sources = sources;
    this.#found = sources[0]!;
  }

  find(name: Uint8Array, length: number, trace?: Trace): boolean {
    for (const source of this.#sources) {
      if (!source.find(name, length, trace)) continue;
      this.#found = source;
      return true;
    }
    return false;
  }

  isAbove(name: Uint8Array, length: number): boolean {
    for (const source of this.#sources) if (source.isAbove?.(name, length) === true) return true;
    return false;
  }

  get isSynced(): boolean {
    return this.#found.isSynced;
  }

  targetOf(type: number): Uint8Array | undefined {
    return this.#found.targetOf(type);
  }

  answer(type: number, writer: AnswerWriter, owner?: Uint8Array): void {
    this.#found.answer(type, writer, owner);
  }

  candidates(): Candidates | undefined {
    return this.#found.candidates?.();
  }
}
