import { MESSAGE_MUTATIONS, type Mutation, TEXT_MUTATIONS } from './mutations.js';

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
  readonly close?: (() => Promise<void>) | undefined;
}

/** Makes what a row of the tables in `targets/` describes, in the process that fuzzes it. */
export type CreateTarget = () => FuzzTarget | Promise<FuzzTarget>;

/** A parser of packets, or of pieces of a stream. */
interface PacketTarget extends Omit<FuzzTarget, 'tokens' | 'mutations'> {
  /** A character is a byte. */
  readonly tokens: readonly (string | Uint8Array)[];
  /** Those of DNS messages unless said otherwise. */
  readonly mutations?: readonly Mutation[];
}

export function packetTarget(row: PacketTarget): FuzzTarget {
  const tokens = row.tokens.map((token) =>
    typeof token === 'string' ? Buffer.from(token, 'latin1') : Buffer.from(token),
  );
  return { mutations: MESSAGE_MUTATIONS, ...row, tokens };
}

const MAX_TEXT_BYTES = 4_096;
/** A word of a few characters becomes an object of some hundred bytes. */
const BYTES_PER_BYTE = 256;

/** What a text, or a stream that comes byte by byte, may allocate beyond what every input may. */
export function textAllowance({ length }: Uint8Array): number {
  return BYTES_PER_BYTE * length;
}

/** A parser of texts; its allowance is enough for words that become objects, unless said otherwise. */
interface TextTarget extends Pick<FuzzTarget, 'allowance' | 'close'> {
  readonly seeds: readonly string[];
  readonly tokens: readonly string[];
  /** How the bytes become text; utf8 unless said otherwise. */
  readonly encoding?: BufferEncoding;
  /** Parses, and returns whether the text is accepted. */
  readonly parse: (text: string) => boolean;
  /** The errors that are refusals. */
  readonly refusals?: readonly (new (...args: never[]) => Error)[];
}

export function textTarget(row: TextTarget): FuzzTarget {
  const { seeds, tokens, parse, close, refusals = [] } = row;
  const { encoding = 'utf8', allowance = textAllowance } = row;
  return {
    seeds: seeds.map((text) => Buffer.from(text, encoding)),
    tokens: tokens.map((text) => Buffer.from(text, encoding)),
    mutations: TEXT_MUTATIONS,
    maxBytes: MAX_TEXT_BYTES,
    allowance,
    run: (input) => {
      try {
        return parse(input.toString(encoding));
      } catch (error) {
        if (refusals.some((refusal) => error instanceof refusal)) return false;
        throw error;
      }
    },
    close,
  };
}
