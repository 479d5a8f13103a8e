import { BYTE_MUTATIONS } from './byte-mutations.js';
import type { Mutation } from './mutation.js';
import type { Random } from './random.js';
import type { Draft } from './draft.js';

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
