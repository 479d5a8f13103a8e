import type { Mutation } from './mutation.js';

/** A parser, ready to be given inputs. */
export interface FuzzTarget {
  /** Inputs that it takes, to make others of. */
  readonly seeds: readonly Buffer[];
  /** Pieces that mean something to it. */
  readonly tokens: readonly Buffer[];
  readonly mutations: readonly Mutation[];
  /** The longest input that it is given. */
  readonly maxBytes: number;
  /**
   * What it may allocate for an input beyond what every input may, in bytes: nothing unless said otherwise,
   * and so for packets. Texts have as many words as they are long.
   */
  readonly allowance?: (input: Buffer) => number;
  /**
   * Passes one input to it, which it must not change or retain. Returns whether it was accepted; a refusal by an
   * error that belongs to the parser's contract is one. Whatever else it throws is a finding.
   */
  run(input: Buffer): boolean;
  close?(): Promise<void>;
}

/** A parser as the command knows it. */
export interface FuzzParser {
  readonly name: string;
  /** Whether its inputs come in packets, from anyone; the others are texts. */
  readonly isPacket: boolean;
  readonly create: () => Promise<FuzzTarget>;
}
