import { beforeEach, describe, expect, it } from '@jest/globals';
import packet from 'dns-packet';
import { addressRecords, bytesOf, opt, queryBytes } from '../test/messages.js';
import { decodeName } from './name.js';
import { FLAG } from './protocol.js';
import { copyQuery, Query, type Verdict } from './query.js';

const MAX_UDP = 1232;
const MINIMAL = [0x12, 0x34, 0x01, 0, 0, 1, 0, 0, 0, 0, 0, 0];
const QUESTION = [1, 'a', 0, 0, 1, 0, 1] as const;

let query: Query;
beforeEach(() => {
  query = new Query();
});

function read(bytes: Uint8Array, isOverTcp = false): Verdict {
  return query.read(bytes, bytes.length, isOverTcp, MAX_UDP);
}

/** A message with these words of the header (flags, then the four counts) and what follows. */
function message(words: readonly number[], ...parts: readonly (number | string)[]): Uint8Array {
  const header = [0x1234, ...words].flatMap((word) => [word >> 8, word & 0xff]);
  return bytesOf(...header, ...parts);
}

/** An OPT record's bytes; the owner may be wrong. */
function optBytes(owner: number[] = [0]): number[] {
  return [...owner, 0, 41, 4, 0xd0, 0, 0, 0, 0, 0, 0];
}

describe('Query.read of a good query', () => {
  it('reads ID, flags, question and where it ends', () => {
    const bytes = queryBytes('web.default', { questions: [{ name: 'web.default', type: 'SRV' }] });
    expect(read(bytes)).toBe('answer');
    expect(query).toMatchObject({ id: 0x1234, type: 33, class: 1, hasEdns: false });
    expect(query.questionEnd).toBe(bytes.length);
    expect(query.isRecursionDesired).toBe(true);
    expect(query.flags & FLAG.CD).toBe(0);
  });

  it('lower-cases the name and leaves the bytes as they came', () => {
    const bytes = queryBytes('wEb.DEFAULT');
    expect(read(bytes)).toBe('answer');
    expect(decodeName(query.name.subarray(0, query.nameLength))).toBe('web.default');
    expect(decodeName(query.bytes, 12)).toBe('wEb.DEFAULT');
  });

  it('takes a name of 255 bytes', () => {
    const name = ['a'.repeat(63), 'a'.repeat(63), 'a'.repeat(63), 'a'.repeat(61)].join('.');
    expect(read(queryBytes(name))).toBe('answer');
    expect(query.nameLength).toBe(255);
  });

  it('takes the root', () => {
    expect(read(queryBytes('.'))).toBe('answer');
    expect(query.nameLength).toBe(1);
  });

  it('takes up to one answer, one authority and two additional records', () => {
    const records = addressRecords('a', 2);
    const [record] = records;
    const fields = { answers: [record!], authorities: [record!], additionals: records };
    expect(read(queryBytes('a', fields))).toBe('answer');
  });

  it('ignores bytes behind the message', () => {
    expect(read(bytesOf(...MINIMAL, ...QUESTION, 'garbage'))).toBe('answer');
    expect(query.questionEnd).toBe(19);
  });

  it('looks at no byte behind the given length', () => {
    const bytes = bytesOf(...MINIMAL, ...QUESTION);
    expect(query.read(bytes, bytes.length - 1, false, MAX_UDP)).toBe('formerr');
  });

  it('forgets the query before', () => {
    read(queryBytes('a.b', { additionals: [opt({ size: 1000, isDnssecOk: true })] }));
    expect(read(message([0x0100, 0, 0, 0, 0]))).toBe('formerr');
    expect(query).toMatchObject({ hasEdns: false, isDnssecOk: false, maxAnswerBytes: 512 });
    expect(query).toMatchObject({ nameLength: 0, type: 0, class: 0, questionEnd: 12 });
  });
});

describe('Query.read of EDNS', () => {
  it.each([
    ['no OPT', undefined, 512],
    ['0', 0, 512],
    ['511', 511, 512],
    ['1000', 1000, 1000],
    ['4096, more than the cap,', 4096, MAX_UDP],
    ['65535', 65535, MAX_UDP],
  ])('with size %s lets a UDP answer have the right size', (_, size, expected) => {
    const bytes = queryBytes('a', size === undefined ? {} : { additionals: [opt({ size: 1 })] });
    if (size !== undefined) bytes.writeUInt16BE(size, 19 + 3);
    expect(read(bytes)).toBe('answer');
    expect(query.maxAnswerBytes).toBe(expected);
    expect(query.hasEdns).toBe(size !== undefined);
  });

  it('leaves a TCP answer its 65,535 bytes', () => {
    expect(read(queryBytes('a', { additionals: [opt({ size: 600 })] }), true)).toBe('answer');
    expect(query.maxAnswerBytes).toBe(65_535);
    expect(query.isOverTcp).toBe(true);
  });

  it('reads the DO bit', () => {
    read(queryBytes('a', { additionals: [opt({ isDnssecOk: true })] }));
    expect(query.isDnssecOk).toBe(true);
  });

  it('passes over options', () => {
    const bytes = queryBytes('a', {
      additionals: [{ ...opt(), options: [{ code: 10, data: Buffer.alloc(8) }] } as never],
    });
    expect(read(bytes)).toBe('answer');
  });

  it('finds OPT behind another additional record', () => {
    expect(read(queryBytes('a', { additionals: [...addressRecords('a', 1), opt()] }))).toBe(
      'answer',
    );
    expect(query.hasEdns).toBe(true);
  });

  it('recognizes an unsupported version', () => {
    expect(read(queryBytes('a', { additionals: [opt({ version: 1 })] }))).toBe('badvers');
    expect(query.hasEdns).toBe(true);
  });
});

describe('Query.read of a bad message', () => {
  it.each<[string, Verdict, Uint8Array]>([
    ['nothing', 'drop', bytesOf()],
    ['11 bytes', 'drop', message([0x0100, 1, 0, 0, 0]).subarray(0, 11)],
    ['a response', 'drop', message([0x8100, 1, 0, 0, 0], ...QUESTION)],
    ['a response of another opcode', 'drop', message([0xa100, 1, 0, 0, 0], ...QUESTION)],
    ['opcode STATUS', 'notimp', message([0x1000, 1, 0, 0, 0], ...QUESTION)],
    ['opcode NOTIFY', 'notimp', message([0x2000, 1, 0, 0, 0], ...QUESTION)],
    ['opcode UPDATE without a question', 'notimp', message([0x2800, 0, 0, 0, 0])],
    ['no question', 'formerr', message([0x0100, 0, 0, 0, 0])],
    ['two questions', 'formerr', message([0x0100, 2, 0, 0, 0], ...QUESTION, ...QUESTION)],
    ['two answers', 'formerr', message([0x0100, 1, 2, 0, 0], ...QUESTION)],
    ['two authorities', 'formerr', message([0x0100, 1, 0, 2, 0], ...QUESTION)],
    ['three additionals', 'formerr', message([0x0100, 1, 0, 0, 3], ...QUESTION)],
    ['65,535 of everything', 'formerr', message([0x0100, 0xffff, 0xffff, 0xffff, 0xffff])],
    ['a header alone', 'formerr', message([0x0100, 1, 0, 0, 0])],
    ['a name without its end', 'formerr', message([0x0100, 1, 0, 0, 0], 1, 'a')],
    ['a label past the end', 'formerr', message([0x0100, 1, 0, 0, 0], 9, 'a', 0, 0, 1, 0, 1)],
    ['a question without class', 'formerr', message([0x0100, 1, 0, 0, 0], 1, 'a', 0, 0, 1)],
    ['a pointer', 'formerr', message([0x0100, 1, 0, 0, 0], 0xc0, 12, 0, 1, 0, 1)],
    [
      'a label of 64 bytes',
      'formerr',
      message([0x0100, 1, 0, 0, 0], 64, 'a'.repeat(64), 0, 0, 1, 0, 1),
    ],
    [
      'a name of 256 bytes',
      'formerr',
      message([0x0100, 1, 0, 0, 0], ...nameOf(63, 63, 63, 62), 0, 1, 0, 1),
    ],
    [
      'a name of 300 bytes',
      'formerr',
      message([0x0100, 1, 0, 0, 0], ...nameOf(63, 63, 63, 63, 42), 0, 1, 0, 1),
    ],
    ['an additional that is missing', 'formerr', message([0x0100, 1, 0, 0, 1], ...QUESTION)],
    [
      'an OPT that is cut off',
      'formerr',
      message([0x0100, 1, 0, 0, 1], ...QUESTION, ...optBytes().slice(0, -1)),
    ],
    [
      'an OPT with data past the end',
      'formerr',
      message([0x0100, 1, 0, 0, 1], ...QUESTION, ...optBytes().slice(0, -1), 1),
    ],
    [
      'two OPTs',
      'formerr',
      message([0x0100, 1, 0, 0, 2], ...QUESTION, ...optBytes(), ...optBytes()),
    ],
    [
      'an OPT whose owner is not the root',
      'formerr',
      message([0x0100, 1, 0, 0, 1], ...QUESTION, ...optBytes([1, 0x61, 0])),
    ],
    [
      'an OPT whose owner is a pointer',
      'formerr',
      message([0x0100, 1, 0, 0, 1], ...QUESTION, ...optBytes([0xc0, 14])),
    ],
    [
      'an OPT among the answers',
      'formerr',
      message([0x0100, 1, 1, 0, 0], ...QUESTION, ...optBytes()),
    ],
  ])('judges %s as %s', (_, verdict, bytes) => {
    expect(read(bytes)).toBe(verdict);
  });

  it('still reads ID and flags, for the refusal', () => {
    read(message([0x0110, 2, 0, 0, 0]));
    expect(query).toMatchObject({ id: 0x1234, flags: 0x0110 });
  });
});

describe('copyQuery', () => {
  it('stays as it was when the original reads on', () => {
    const bytes = queryBytes('wEb.x', { additionals: [opt({ size: 900, isDnssecOk: true })] });
    read(bytes);
    const copy = copyQuery(query);
    bytes.fill(0xff);
    read(queryBytes('other', { id: 7 }));
    expect(copy).toMatchObject({ id: 0x1234, maxAnswerBytes: 900, isDnssecOk: true });
    expect(packet.decode(Buffer.from(copy.bytes)).questions?.[0]?.name).toBe('wEb.x');
    expect(decodeName(copy.name)).toBe('web.x');
  });

  it('retains the size limit of TCP', () => {
    read(queryBytes('a'), true);
    expect(copyQuery(query)).toMatchObject({ isOverTcp: true, maxAnswerBytes: 65_535 });
  });
});

/** A name of labels of the given lengths. */
function nameOf(...lengths: number[]): (number | string)[] {
  return [...lengths.flatMap((length) => [length, 'a'.repeat(length)]), 0];
}

describe('Query.read of a cookie', () => {
  const CLIENT = '0102030405060708';
  const NSID = [0, 3, 0, 0];

  /** A query with an OPT record that has these options. */
  const withOptions = (...options: number[]): Uint8Array => {
    const opt = [...optBytes().slice(0, -2), options.length >> 8, options.length & 0xff];
    return message([0x0100, 1, 0, 0, 1], ...QUESTION, ...opt, ...options);
  };
  const cookie = (hex: string): number[] => {
    const data = [...Buffer.from(hex, 'hex')];
    return [0, 10, 0, data.length, ...data];
  };
  const readData = () =>
    Buffer.from(query.bytes.subarray(query.cookieAt, query.cookieAt + query.cookieBytes)).toString(
      'hex',
    );

  it.each([
    ['alone', cookie(CLIENT), CLIENT],
    ['with a server cookie', cookie(CLIENT.repeat(3)), CLIENT.repeat(3)],
    ['of the greatest length', cookie(CLIENT.repeat(5)), CLIENT.repeat(5)],
    ['behind other options', [...NSID, 0, 12, 0, 2, 0, 0, ...cookie(CLIENT)], CLIENT],
    ['before other options', [...cookie(CLIENT), ...NSID], CLIENT],
    // RFC 7873 section 4: all but the first are ignored.
    ['of two', [...cookie(CLIENT), ...cookie('ff'.repeat(8))], CLIENT],
  ])('finds one %s', (_place, options, expected) => {
    expect(read(withOptions(...options))).toBe('answer');
    expect(readData()).toBe(expected);
    expect(query.maxAnswerBytes).toBe(MAX_UDP - 28);
    expect(query.asksZoneVersion).toBe(false);
  });

  it.each([0, 1, 7, 9, 15, 41, 100])('refuses one of %d bytes', (bytes) => {
    expect(read(withOptions(...NSID, ...cookie('00'.repeat(bytes))))).toBe('badoption');
    expect([query.cookieAt, query.maxAnswerBytes]).toEqual([0, MAX_UDP]);
  });

  it('ignores options that do not fit the record, as dnsmasq does', () => {
    expect(read(withOptions(0, 10, 0, 8, 1, 2))).toBe('answer');
    expect(read(withOptions(0, 3, 0, 9, ...cookie(CLIENT)))).toBe('answer');
    expect(query.cookieAt).toBe(0);
  });

  it('finds none in the next query', () => {
    read(withOptions(...cookie(CLIENT)));
    expect(read(withOptions())).toBe('answer');
    expect([query.cookieAt, query.cookieBytes, query.maxAnswerBytes]).toEqual([0, 0, MAX_UDP]);
  });

  it('takes one without a question', () => {
    const opt = [...optBytes().slice(0, -2), 0, 12, ...cookie(CLIENT)];
    expect(read(message([0x0100, 0, 0, 0, 1], ...opt))).toBe('cookie');
    expect(readData()).toBe(CLIENT);
    expect(read(message([0x0100, 0, 0, 0, 1], ...optBytes()))).toBe('formerr');
    expect(read(message([0x0100, 0, 0, 0, 0]))).toBe('formerr');
    expect(read(message([0x0100, 0, 0, 0, 1], ...opt.slice(0, -1)))).toBe('formerr');
  });
});
