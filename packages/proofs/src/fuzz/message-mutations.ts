import { CLASS, HEADER_BYTES, TYPE } from '@kube-dns/wire';
import { BYTE_MUTATIONS } from './byte-mutations.js';
import type { Draft } from './draft.js';
import type { Mutation } from './mutation.js';
import type { Random } from './random.js';

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
