import type { Mutation } from './mutation.js';

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
