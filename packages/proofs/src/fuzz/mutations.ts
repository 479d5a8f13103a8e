import { CLASS, HEADER_BYTES, TYPE } from '@kube-dns/wire';
import type { Random } from '../random.js';

/** One change of an input in progress. Draws all of its choices from `random`; never throws. */
export type Mutation = (draft: Draft, random: Random, corpus: Corpus) => void;

/** Most inputs are near their origin: of many faults in one input a parser meets only the first. */
const MAX_CHANGES = 6;

/** Begins the draft with an input of the corpus and changes it. */
export function mutate(
  draft: Draft,
  mutations: readonly Mutation[],
  random: Random,
  corpus: Corpus,
): void {
  draft.reset(random.pick(corpus.entries));
  let changes = 1;
  while (changes < MAX_CHANGES && random.isOneIn(2)) changes++;
  for (let i = 0; i < changes; i++) random.pick(mutations)(draft, random, corpus);
}

/** An input in progress: bytes that mutations change, up to as many as the parser is to get. */
export class Draft {
  readonly bytes: Buffer;
  length = 0;

  constructor(maxBytes: number) {
    this.bytes = Buffer.alloc(maxBytes);
  }

  /** Begins again with a copy; what does not fit is cut. */
  reset(from: Uint8Array): void {
    this.length = Math.min(from.length, this.bytes.length);
    this.bytes.set(from.subarray(0, this.length));
  }

  /** Inserts `piece` at `at`; bytes that do not fit are cut off at the end. */
  insert(at: number, piece: Uint8Array): void {
    const { bytes } = this;
    const count = Math.min(piece.length, bytes.length - at);
    const end = Math.min(this.length + count, bytes.length);
    bytes.copyWithin(at + count, at, end - count);
    bytes.set(piece.subarray(0, count), at);
    this.length = end;
  }

  /** Overwrites existing bytes, also beyond the end. */
  overwrite(at: number, piece: Uint8Array): void {
    const count = Math.min(piece.length, this.bytes.length - at);
    this.bytes.set(piece.subarray(0, count), at);
    this.length = Math.max(this.length, at + count);
  }

  append(piece: Uint8Array): void {
    this.overwrite(this.length, piece);
  }

  remove(at: number, count: number): void {
    this.bytes.copyWithin(at, at + count, this.length);
    this.length -= Math.min(count, this.length - at);
  }

  /** A copy of a part. */
  slice(at: number, count: number): Buffer {
    return Buffer.from(this.bytes.subarray(at, Math.min(at + count, this.length)));
  }
}

/** This many inputs are stored to start from; one more replaces another. */
const MAX_ENTRIES = 2_000;

/** The inputs that others are made of. The first ones, which were written for it, stay. */
export class Corpus {
  readonly tokens: readonly Buffer[];
  readonly #entries: Buffer[];
  readonly #seedCount: number;

  /** `tokens` are pieces that mean something to the parser. */
  constructor(seeds: readonly Buffer[], tokens: readonly Buffer[]) {
    this.#entries = [...seeds];
    this.#seedCount = seeds.length;
    this.tokens = tokens;
  }

  get entries(): readonly Buffer[] {
    return this.#entries;
  }

  /** Stores a copy. */
  add(entry: Uint8Array, random: Random): void {
    const copy = Buffer.from(entry);
    if (this.#entries.length < MAX_ENTRIES) this.#entries.push(copy);
    else this.#entries[this.#seedCount + random.below(MAX_ENTRIES - this.#seedCount)] = copy;
  }
}

/** Where kinds of labels, signs and lengths change. */
const BYTES = [0x00, 0x01, 0x0c, 0x0f, 0x3f, 0x40, 0x7f, 0x80, 0xbf, 0xc0, 0xff];
const NUMBERS = [0, 1, 2, 0x0c, 0x3f, 0x40, 0xff, 0x100, 0x1ff, 0x7fff, 0x8000, 0xc00c, 0xffff];
const MAX_CHUNK = 32;
const MAX_RUN = 400;

/** Changes that know nothing of what the bytes mean. */
export const BYTE_MUTATIONS: readonly Mutation[] = [
  // A bit.
  (draft, random) => {
    const at = random.below(draft.length);
    if (at < draft.length) draft.bytes[at]! ^= 1 << random.below(8);
  },
  // A byte.
  (draft, random) => {
    const at = random.below(draft.length);
    if (at >= draft.length) return;
    draft.bytes[at] = random.isOneIn(2) ? random.pick(BYTES) : random.next();
  },
  // A byte that is a little more or less.
  (draft, random) => {
    const at = random.below(draft.length);
    if (at < draft.length) draft.bytes[at]! += random.below(9) - 4;
  },
  // A number of 16 bits.
  (draft, random) => {
    if (draft.length < 2) return;
    const at = random.below(draft.length - 1);
    const near = [draft.length - at, draft.length - at - 2, draft.length];
    const number = random.isOneIn(3) ? random.pick(near) : random.pick(NUMBERS);
    draft.bytes.writeUInt16BE(number & 0xffff, at);
  },
  // The end is cut off.
  (draft, random) => {
    draft.length = random.below(draft.length + 1);
  },
  // A piece goes.
  (draft, random) => {
    draft.remove(random.below(draft.length), 1 + random.below(MAX_CHUNK));
  },
  // A piece comes twice, there or elsewhere.
  (draft, random) => {
    const from = random.below(draft.length);
    const to = random.isOneIn(2) ? from : random.below(draft.length + 1);
    draft.insert(to, draft.slice(from, 1 + random.below(MAX_CHUNK)));
  },
  // A piece is written over another.
  (draft, random) => {
    const piece = draft.slice(random.below(draft.length), 1 + random.below(MAX_CHUNK));
    draft.overwrite(random.below(draft.length + 1), piece);
  },
  // Anything comes in.
  (draft, random) => {
    const piece = Buffer.alloc(1 + random.below(8));
    for (let i = 0; i < piece.length; i++) piece[i] = random.next();
    draft.insert(random.below(draft.length + 1), piece);
  },
  // A run of the same.
  (draft, random) => {
    const byte = random.isOneIn(2) ? random.pick(BYTES) : random.next() & 0xff;
    draft.insert(random.below(draft.length + 1), Buffer.alloc(1 + random.below(MAX_RUN), byte));
  },
  // A word that the parser knows.
  (draft, random, { tokens }) => {
    if (tokens.length === 0) return;
    draft.insert(random.below(draft.length + 1), random.pick(tokens));
  },
  (draft, random, { tokens }) => {
    if (tokens.length === 0) return;
    draft.overwrite(random.below(draft.length + 1), random.pick(tokens));
  },
  // The rest is another's.
  (draft, random, { entries }) => {
    const other = random.pick(entries);
    draft.length = random.below(draft.length + 1);
    draft.append(other.subarray(random.below(other.length + 1)));
  },
];

const NEWLINE = 0x0a;
const MAX_REPEATS = 300;
/** Signs, numbers, what means something to JSON or to an object, addresses and names. */
const WORDS = [
  `# " ' \\ / , ; : = . - -- _ @ % * { } [ ] () $`,
  '0 -1 1e9 0x10 65535 65536 4294967296 9007199254740993 999999999999999999999999 NaN',
  'null true [] {} __proto__ constructor toString hasOwnProperty',
  '10.0.0.1 256.0.0.1 :: ::1 fe80::1%eth0 [::1]:53 10.0.0.0/8 a.b.c xn--nxasmq6b é \u{1f600}',
].flatMap((words) => words.split(' '));
const PIECES = [
  ...['', ' ', '\t', '\r', '\n', '\0', '\u2028', '\ufeff', '\ud800'],
  ...['x'.repeat(63), 'x'.repeat(64)],
  ...WORDS,
].map((text) => Buffer.from(text));

/** Changes of a text: of its words, lines, numbers and separators, and of its bytes. */
export const TEXT_MUTATIONS: readonly Mutation[] = [
  ...BYTE_MUTATIONS,
  // A piece that texts are made of, or that means something elsewhere.
  (draft, random) => draft.insert(random.below(draft.length + 1), random.pick(PIECES)),
  (draft, random) => draft.overwrite(random.below(draft.length + 1), random.pick(PIECES)),
  // One many times: a parser that starts again each time takes quadratic time.
  (draft, random, { tokens }) => {
    const piece = random.pick(random.isOneIn(2) && tokens.length > 0 ? tokens : PIECES);
    const repeats = 1 + random.below(MAX_REPEATS);
    draft.insert(random.below(draft.length + 1), Buffer.concat(Array(repeats).fill(piece)));
  },
  // A word in the place of another.
  (draft, random, { tokens }) => {
    const { start, end } = wordAt(draft, random);
    draft.remove(start, end - start);
    if (tokens.length > 0) draft.insert(start, random.pick(tokens));
  },
  // A line goes, comes twice, or comes from elsewhere.
  (draft, random) => {
    const { start, end } = lineAt(draft, random);
    draft.remove(start, end - start);
  },
  (draft, random) => {
    const { start, end } = lineAt(draft, random);
    draft.insert(start, draft.slice(start, end - start));
  },
  (draft, random, { entries }) => {
    const lines = random.pick(entries);
    const from = lines.indexOf(NEWLINE, random.below(lines.length)) + 1;
    const to = lines.indexOf(NEWLINE, from);
    const { start } = lineAt(draft, random);
    draft.insert(start, lines.subarray(from, to < 0 ? lines.length : to + 1));
  },
  // Another number.
  (draft, random) => {
    const { start, end } = runAt(draft, random, (byte) => byte >= 0x30 && byte <= 0x39);
    if (end === start) return;
    draft.remove(start, end - start);
    draft.insert(
      start,
      Buffer.from(String(random.isOneIn(2) ? random.below(70_000) : random.next())),
    );
  },
];

/** The bytes of one kind around a place; none where the place is of another kind. */
function runAt(draft: Draft, random: Random, isOfKind: (byte: number) => boolean) {
  const at = random.below(draft.length);
  let start = at;
  let end = at;
  while (end < draft.length && isOfKind(draft.bytes[end]!)) end++;
  while (end > at && start > 0 && isOfKind(draft.bytes[start - 1]!)) start--;
  return { start, end };
}

function lineAt(draft: Draft, random: Random) {
  const { start, end } = runAt(draft, random, (byte) => byte !== NEWLINE);
  return { start, end: Math.min(end + 1, draft.length) };
}

function wordAt(draft: Draft, random: Random) {
  return runAt(draft, random, (byte) => byte > 0x20 && !SEPARATORS.has(byte));
}

const SEPARATORS: ReadonlySet<number> = new Set(Buffer.from('=,:/"[]{}'));

const TYPES = [...Object.values(TYPE), 0, 64, 65, 99, 250, 257, 65_280, 65_535];
const CLASSES = [CLASS.IN, CLASS.IN, CLASS.IN, CLASS.CH, CLASS.ANY, 0, 1232];
const TTLS = [0, 1, 30, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];
const COUNTS = [0, 1, 2, 3, 10, 255, 0xffff];
const COUNT_PLACES = [4, 6, 8, 10];
const ADDITIONAL_COUNT = 10;
const QUESTION = 12;
const MAX_POINTER = 0x3fff;
const MAX_LABELS = 130;
const LABEL_SIZES = [1, 1, 3, 15, 63, 64];

/** Changes of what may be a DNS message: names, pointers, counts, records; and of its bytes. */
export const MESSAGE_MUTATIONS: readonly Mutation[] = [
  ...BYTE_MUTATIONS,
  // A count of the header.
  (draft, random) => {
    if (draft.length < HEADER_BYTES) return;
    draft.bytes.writeUInt16BE(random.pick(COUNTS), random.pick(COUNT_PLACES));
  },
  // Flags, opcode, rcode.
  (draft, random) => {
    if (draft.length < HEADER_BYTES) return;
    draft.bytes[2 + random.below(2)]! ^= random.isOneIn(2) ? 1 << random.below(8) : random.next();
  },
  // A pointer over existing bytes: to the question, before itself, to itself, anywhere.
  (draft, random) => {
    if (draft.length < HEADER_BYTES + 2) return;
    const at = QUESTION + random.below(draft.length - QUESTION - 1);
    writePointer(draft, at, pointerTarget(at, draft, random));
  },
  // The same, come in between.
  (draft, random) => {
    const at = random.below(draft.length + 1);
    const piece = Buffer.alloc(2);
    piece.writeUInt16BE(0xc000 | pointerTarget(at, draft, random));
    draft.insert(at, piece);
  },
  // A chain of pointers, each to the next one before it, or around.
  (draft, random) => {
    const at = random.below(draft.length + 1);
    const count = 1 + random.below(200);
    const piece = Buffer.alloc(2 * count);
    const isBackwards = random.isOneIn(2);
    for (let i = 0; i < count; i++) {
      const target = isBackwards ? at + 2 * Math.max(0, i - 1) : at + 2 * ((i + 1) % count);
      piece.writeUInt16BE(0xc000 | (target & MAX_POINTER), 2 * i);
    }
    draft.insert(at, piece);
  },
  // Labels, up to the longest name and beyond, with or without an end.
  (draft, random) => {
    draft.insert(Math.min(QUESTION, draft.length), labels(random));
  },
  (draft, random) => {
    draft.insert(random.below(draft.length + 1), labels(random));
  },
  // Another type and class of the question, where its name ends.
  (draft, random) => {
    const end = draft.bytes.indexOf(0, QUESTION);
    if (end < 0 || end + 5 > draft.length) return;
    draft.bytes.writeUInt16BE(random.pick(TYPES), end + 1);
    if (random.isOneIn(4)) draft.bytes.writeUInt16BE(random.pick(CLASSES), end + 3);
  },
  // The other case of letters.
  (draft, random) => {
    for (let i = 0; i < 8; i++) {
      const at = random.below(draft.length);
      const byte = draft.bytes[at] ?? 0;
      if (at < draft.length && byte >= 0x41 && byte <= 0x7a) draft.bytes[at] = byte ^ 0x20;
    }
  },
  // Records after the last one, counted in one of the sections or not at all.
  (draft, random) => {
    const count = random.isOneIn(8) ? random.below(60) : 1 + random.below(3);
    for (let i = 0; i < count; i++) draft.append(record(draft, random));
    if (!random.isOneIn(8)) raise(draft, random.pick(COUNT_PLACES), count);
  },
  // OPT with options, some of which say that they are longer than they are.
  (draft, random) => {
    draft.append(opt(random));
    raise(draft, ADDITIONAL_COUNT, 1);
  },
];

function writePointer(draft: Draft, at: number, target: number): void {
  draft.bytes.writeUInt16BE(0xc000 | (target & MAX_POINTER), at);
}

function pointerTarget(at: number, draft: Draft, random: Random): number {
  const targets = [QUESTION, at, at - 2, at + 2, random.below(draft.length + 1), draft.length - 1];
  return Math.max(0, random.pick(targets)) & MAX_POINTER;
}

function labels(random: Random): Buffer {
  const size = random.pick(LABEL_SIZES);
  const count = 1 + random.below(random.isOneIn(3) ? MAX_LABELS : 5);
  const name = Buffer.alloc(count * (size + 1) + (random.isOneIn(3) ? 0 : 1), 0x61);
  for (let i = 0; i < count; i++) name[i * (size + 1)] = size;
  name[random.below(name.length)] = random.next();
  if (name.length > count * (size + 1)) name[name.length - 1] = 0;
  return name;
}

function record(draft: Draft, random: Random): Buffer {
  const owner = random.isOneIn(4) ? labels(random) : Buffer.from([0xc0, QUESTION]);
  const data = rdata(draft, random);
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(random.pick(TYPES), 0);
  fixed.writeUInt16BE(random.pick(CLASSES), 2);
  fixed.writeUInt32BE(random.pick(TTLS), 4);
  fixed.writeUInt16BE(random.isOneIn(8) ? random.below(300) : data.length, 8);
  return Buffer.concat([owner, fixed, data]);
}

function rdata(draft: Draft, random: Random): Buffer {
  switch (random.below(6)) {
    case 0:
      return Buffer.from([10, 0, 0, random.next() & 0xff]);
    case 1:
      return Buffer.alloc(16, random.next());
    case 2:
      return labels(random);
    case 3:
      return Buffer.from([0xc0 | random.below(2), random.below(draft.length) & 0xff]);
    case 4:
      return Buffer.concat([Buffer.alloc(6, random.next()), labels(random)]);
    default:
      return draft.slice(random.below(draft.length), random.below(64));
  }
}

function opt(random: Random): Buffer {
  const options = Array.from({ length: random.below(4) }, () => {
    const data = Buffer.alloc(random.below(20), random.next());
    const head = Buffer.alloc(4);
    head.writeUInt16BE(random.pick([3, 8, 8, 10, 15, 65_001]), 0);
    head.writeUInt16BE(random.isOneIn(5) ? random.below(0x1_0000) : data.length, 2);
    return Buffer.concat([head, data]);
  });
  const data = Buffer.concat(options);
  const fixed = Buffer.alloc(11);
  fixed.writeUInt16BE(TYPE.OPT, 1);
  fixed.writeUInt16BE(random.pick([0, 511, 512, 1232, 4096, 65_535]), 3);
  fixed[5] = random.isOneIn(8) ? random.next() : 0;
  fixed[6] = random.isOneIn(8) ? random.next() : 0;
  fixed[7] = random.isOneIn(2) ? 0x80 : 0;
  fixed.writeUInt16BE(random.isOneIn(8) ? random.below(100) : data.length, 9);
  return Buffer.concat([fixed, data]);
}

function raise(draft: Draft, place: number, count: number): void {
  if (draft.length < HEADER_BYTES) return;
  draft.bytes.writeUInt16BE((draft.bytes.readUInt16BE(place) + count) & 0xffff, place);
}
