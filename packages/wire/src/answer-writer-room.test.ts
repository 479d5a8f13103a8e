import { describe, expect, it } from '@jest/globals';
import type { Answer } from 'dns-packet';
import { opt, readQuery } from '../test/messages.js';
import { add, address, srv, write } from '../test/writing.js';
import { AnswerWriter } from './answer-writer.js';
import { encodeName } from './name.js';
import { extendedErrorOption } from './opt-record.js';
import { EXTENDED_ERROR, RCODE } from './protocol.js';
import { RecordCursor, SECTION, type Section } from './record-cursor.js';

const NOT_READY = extendedErrorOption(EXTENDED_ERROR.NOT_READY);

describe('AnswerWriter compression', () => {
  it('points an owner to the whole question, whatever its case', () => {
    const { bytes } = write(readQuery('wEb.X'), (writer) => {
      add(writer, address('web.x', '10.0.0.1'));
    });
    expect(bytes).toHaveLength(12 + 11 + 2 + 10 + 4);
  });

  it('points into the question where an owner shares its end', () => {
    const { bytes } = write(readQuery('web.default.x'), (writer) => {
      add(writer, address('db.default.x', '10.0.0.1'));
    });
    // "db" and a pointer to "default.x", which stands behind the header and "web".
    expect([...bytes.subarray(31, 36)]).toEqual([2, 0x64, 0x62, 0xc0, 12 + 4]);
  });

  it('compresses the names in CNAME, NS and PTR data', () => {
    for (const type of ['CNAME', 'NS', 'PTR'] as const) {
      const { bytes } = write(readQuery('web.default.x'), (writer) => {
        add(writer, { type, name: 'web.default.x', data: 'db.default.x' });
      });
      expect(bytes.subarray(-5)).toEqual(Buffer.from([2, 0x64, 0x62, 0xc0, 12 + 4]));
      expect(bytes.readUInt16BE(bytes.length - 7)).toBe(5);
    }
  });

  it('leaves an SRV target whole and points the addresses behind it there', () => {
    const { bytes, decoded } = write(readQuery('_p._tcp.web.x'), (writer) => {
      add(writer, srv('_p._tcp.web.x', 'a-0.web.x'));
      add(writer, address('a-0.web.x', '10.0.0.1'), SECTION.ADDITIONAL);
    });
    const cursor = new RecordCursor().reset(bytes, bytes.length);
    cursor.next();
    const target = bytes.subarray(cursor.rdataStart + 6, cursor.end);
    expect([...target]).toEqual([...encodeName('a-0.web.x')]);
    const targetAt = cursor.rdataStart + 6;
    cursor.next();
    expect(bytes.readUInt16BE(cursor.start)).toBe(0xc000 | targetAt);
    expect(decoded.additionals?.[0]?.name).toBe('a-0.web.x');
  });

  it('leaves names in SOA and TXT data whole', () => {
    const data = { mname: 'ns.dns.x', rname: 'hostmaster.x', serial: 1, minimum: 5 };
    const { bytes, decoded } = write(readQuery('a.dns.x'), (writer) => {
      add(writer, { type: 'SOA', name: 'x', data }, SECTION.AUTHORITY);
    });
    expect(decoded.authorities?.[0]).toMatchObject({ type: 'SOA', data });
    const cursor = new RecordCursor().reset(bytes, bytes.length);
    cursor.next();
    expect(cursor.end - cursor.rdataStart).toBe(10 + 14 + 20);
  });

  it('points only where 14 bits reach', () => {
    const { decoded } = write(readQuery('x'), (writer) => {
      for (let i = 0; i < 100; i++) {
        const text = Buffer.alloc(250, 0x61);
        add(writer, { type: 'TXT', name: `n${i}.far.y`, data: [text] });
      }
      for (let i = 0; i < 100; i++) add(writer, address(`n${i}.far.y`, '10.0.0.1'));
    });
    const names = decoded.answers!.map(({ name }) => name);
    const expected = Array.from({ length: 100 }, (_, i) => `n${i}.far.y`);
    expect(names).toEqual([...expected, ...expected]);
  });

  it('makes no mistake when there are more names than it remembers', () => {
    const { decoded } = write(readQuery('x'), (writer) => {
      for (let i = 0; i < 400; i++) add(writer, srv(`s${i}.x`, `t${i}.y`));
    });
    expect(decoded.answers).toHaveLength(400);
    expect(decoded.answers?.[399]).toMatchObject({ name: 's399.x', data: { target: 't399.y' } });
  });
});

describe('AnswerWriter in a small buffer', () => {
  const fill = (section: Section) => (writer: AnswerWriter) => {
    for (let i = 0; i < 10; i++) add(writer, address('web.x', `10.0.0.${i}`), section);
  };

  it('leaves out the records that do not fit and sets TC', () => {
    const { decoded } = write(readQuery('web.x'), fill(SECTION.ANSWER), 100);
    expect(decoded.flag_tc).toBe(true);
    const data = decoded.answers!.map((answer) => (answer as { data: string }).data);
    expect(data).toEqual(['10.0.0.0', '10.0.0.1', '10.0.0.2', '10.0.0.3']);
  });

  it('sets TC for an authority record that is left out', () => {
    expect(write(readQuery('web.x'), fill(SECTION.AUTHORITY), 60).decoded.flag_tc).toBe(true);
  });

  it('sets no TC for additional records that are left out', () => {
    const { decoded } = write(readQuery('web.x'), fill(SECTION.ADDITIONAL), 59);
    expect(decoded.flag_tc).toBe(false);
    expect(decoded.additionals).toHaveLength(1);
  });

  it('adds nothing behind a record that did not fit', () => {
    const { decoded } = write(
      readQuery('web.x'),
      (writer) => {
        const long: Answer = { type: 'TXT', name: 'web.x', data: [Buffer.alloc(200)] };
        expect(add(writer, address('web.x', '10.0.0.1'))).toBe(true);
        expect(add(writer, long)).toBe(false);
        expect(add(writer, address('web.x', '10.0.0.2'))).toBe(false);
      },
      100,
    );
    expect(decoded.answers).toHaveLength(1);
  });

  it('has room for OPT however full it is', () => {
    const query = readQuery('web.x', { additionals: [opt()] });
    for (let size = 60; size < 120; size++) {
      const { decoded } = write(query, fill(SECTION.ANSWER), size);
      expect(decoded.flag_tc).toBe(true);
      expect(decoded.additionals).toHaveLength(1);
    }
  });

  it('uses at most the given length of a larger one', () => {
    const out = new Uint8Array(1_000).fill(0xee);
    const writer = new AnswerWriter();
    writer.begin(readQuery('web.x'), out, 100);
    fill(SECTION.ANSWER)(writer);
    expect(writer.isFull).toBe(true);
    expect(writer.finish()).toBe(23 + 4 * 16);
    expect(() => writer.begin(readQuery('web.x'), out, 22)).toThrow(RangeError);
    writer.begin(readQuery('web.x'), out, 100);
    expect(writer.isFull).toBe(false);
  });

  it('is filled to the last byte, compression and OPT considered', () => {
    const query = readQuery('web.x', { additionals: [opt()] });
    const out = new Uint8Array(1_000);
    const writer = new AnswerWriter();
    const lengthIn = (maxBytes: number, options?: Uint8Array) => {
      writer.begin(query, out, maxBytes);
      writer.setRcode(RCODE.SERVFAIL, options);
      for (let i = 0; i < 2; i++) add(writer, { type: 'PTR', name: 'web.x', data: `a${i}.web.x` });
      return { length: writer.finish(), isFull: writer.isFull };
    };
    // Header and question 23, each record 2 + 10 + 5, OPT 11.
    expect(lengthIn(68)).toEqual({ length: 68, isFull: false });
    expect(lengthIn(67)).toEqual({ length: 51, isFull: true });
    expect(lengthIn(74, NOT_READY)).toEqual({ length: 74, isFull: false });
    expect(lengthIn(73, NOT_READY)).toEqual({ length: 68, isFull: false });
  });

  it('throws for one that has no room for the question', () => {
    const writer = new AnswerWriter();
    expect(() => writer.begin(readQuery('web.x'), new Uint8Array(22))).toThrow(RangeError);
    const query = readQuery('web.x', { additionals: [opt()] });
    expect(() => writer.begin(query, new Uint8Array(33))).toThrow(RangeError);
  });
});
