/** Fewer bytes are joined with those that follow. */
const CHUNK_BYTES = 64 * 1024;

/** The same bytes in chunks of some size; pieces that are neighbours in memory are joined without a copy. */
export function* chunksOf(pieces: Iterable<Buffer>): Generator<Buffer, void> {
  let runs: Buffer[] = [];
  let length = 0;
  for (const piece of pieces) {
    const last = runs.at(-1);
    if (last && isNeighbour(last, piece)) {
      runs[runs.length - 1] = Buffer.from(last.buffer, last.byteOffset, last.length + piece.length);
    } else runs.push(piece);
    length += piece.length;
    if (length < CHUNK_BYTES) continue;
    yield joined(runs);
    runs = [];
    length = 0;
  }
  if (length > 0) yield joined(runs);
}

function isNeighbour(a: Buffer, b: Buffer): boolean {
  return a.buffer === b.buffer && a.byteOffset + a.length === b.byteOffset;
}

function joined(runs: readonly Buffer[]): Buffer {
  return runs.length === 1 ? runs[0]! : Buffer.concat(runs);
}
