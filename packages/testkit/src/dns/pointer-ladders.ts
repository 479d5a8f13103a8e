/** So that all of it fits with its names written out. */
const MAX_BYTES = 65_000;
const QUESTION_AT = 12;
const [A, CNAME, OPAQUE] = [1, 5, 65_400];
const POINTER = 0xc000;
/** Pointers reach so far. */
const LAST_TARGET = 0x3fff;
/** A name may have 127 pointers. */
const RUNGS = 120;

/** What the names of the records lead through: chains of pointers, or as many labels as a name may have. */
export type LadderKind = 'pointers' | 'labels' | 'none';

/**
 * A whole reply to a question for A records of `a.evil`, of 65 kB: CNAMEs, and then as many A records as there is room for,
 * each of whose owners leads through a ladder of its own; with `none` all of them point to the end of the CNAMEs.
 */
export function pointerLadders(kind: LadderKind, cnames = 10): Buffer {
  const parts: Buffer[] = [
    Buffer.concat([Buffer.alloc(QUESTION_AT), name('a.evil'), uint16(A), uint16(1)]),
  ];
  let at = parts[0]!.length;
  let count = 0;
  const add = (owner: number, type: number, rdata: Buffer): boolean => {
    const record = recordOf(owner, type, rdata);
    if (at + record.length > MAX_BYTES) return false;
    parts.push(record);
    at += record.length;
    count++;
    return true;
  };
  let target = QUESTION_AT;
  for (let i = 0; i < cnames; i++) {
    const owner = target;
    target = at + 12;
    add(owner, CNAME, name(`c${i}.evil`));
  }
  const { bytes, owners } = kind === 'pointers' ? ladders(at + 12) : longNames(at + 12);
  if (kind !== 'none') add(QUESTION_AT, OPAQUE, bytes);
  const ownerOf = (i: number) => (kind === 'none' ? target : owners[i % owners.length]!);
  for (let i = 0; add(ownerOf(i), A, Buffer.from([10, 0, i >> 8, i & 0xff])); i++) continue;
  const reply = Buffer.concat(parts);
  reply.writeUInt16BE(0x8180, 2);
  reply.writeUInt16BE(1, 4);
  reply.writeUInt16BE(count, 6);
  return reply;
}

/** As many ladders as pointers reach, and their last rungs, where the most pointers are followed from. */
function ladders(start: number): { bytes: Buffer; owners: number[] } {
  const parts: Buffer[] = [];
  const owners: number[] = [];
  let at = start;
  while (at + 2 * RUNGS + 3 < LAST_TARGET) {
    parts.push(name('x'));
    let rung = at;
    at += 3;
    for (let i = 0; i < RUNGS; i++) {
      parts.push(uint16(POINTER | rung));
      rung = at;
      at += 2;
    }
    owners.push(rung, rung - 2, rung - 4, rung - 6);
  }
  return { bytes: Buffer.concat(parts), owners };
}

/** A name of 120 labels, and where four of them begin. */
function longNames(start: number): { bytes: Buffer; owners: number[] } {
  const labels = Array<string>(RUNGS).fill('x').join('.');
  return { bytes: name(labels), owners: [start, start + 2, start + 4, start + 6] };
}

function recordOf(owner: number, type: number, rdata: Buffer): Buffer {
  const head = [uint16(POINTER | owner), uint16(type), uint16(1), Buffer.from([0, 0, 0, 60])];
  return Buffer.concat([...head, uint16(rdata.length), rdata]);
}

function name(text: string): Buffer {
  const labels = text.split('.').map((label) => Buffer.from([label.length, ...Buffer.from(label)]));
  return Buffer.concat([...labels, Buffer.of(0)]);
}

function uint16(value: number): Buffer {
  return Buffer.of(value >> 8, value & 0xff);
}
