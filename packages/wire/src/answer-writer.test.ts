import { describe, expect, it } from '@jest/globals';
import packet from 'dns-packet';
import type { Answer, DecodedPacket } from 'dns-packet';
import fc from 'fast-check';
import { hostNames } from '../test/arbitraries.js';
import { opt, readQuery } from '../test/messages.js';
import { AnswerWriter, isSameRecord } from './answer-writer.js';
import { encodeName } from './name.js';
import { encodeRdata } from './packet.js';
import { EXTENDED_ERROR, RCODE, TYPE } from './protocol.js';
import { Query } from './query.js';
import { RecordCursor, SECTION, type Section } from './record-cursor.js';

interface Written {
  readonly bytes: Buffer;
  readonly decoded: DecodedPacket;
}

/** Writes one answer into `size` bytes and takes it apart with dns-packet. */
function write(query: Query, fill: (writer: AnswerWriter) => void, size = 65_535): Written {
  const out = new Uint8Array(size).fill(0xee);
  const writer = new AnswerWriter();
  writer.begin(query, out);
  fill(writer);
  const length = writer.finish();
  expect(length).toBeLessThanOrEqual(size);
  const bytes = Buffer.from(out.subarray(0, length));
  return { bytes, decoded: packet.decode(bytes) };
}

function add(writer: AnswerWriter, record: Answer, section: Section = SECTION.ANSWER): boolean {
  const type = TYPE[record.type as keyof typeof TYPE];
  const ttl = (record as { ttl?: number }).ttl ?? 30;
  return writer.add(section, encodeName(record.name), type, ttl, encodeRdata(record));
}

const address = (name: string, data: string): Answer => ({ type: 'A', name, data, ttl: 30 });
const srv = (name: string, target: string): Answer => ({
  type: 'SRV',
  name,
  ttl: 30,
  data: { priority: 10, weight: 50, port: 80, target },
});

describe('AnswerWriter header and question', () => {
  it('echoes ID and question, the case of its letters too', () => {
    const { decoded } = write(readQuery('wEb.DeFault'), () => undefined);
    expect(decoded).toMatchObject({ id: 0x1234, type: 'response', rcode: 'NOERROR' });
    expect(decoded.questions).toEqual([{ name: 'wEb.DeFault', type: 'A', class: 'IN' }]);
  });

  it.each([
    ['RD', packet.RECURSION_DESIRED, { flag_rd: true, flag_cd: false }],
    ['CD', packet.CHECKING_DISABLED, { flag_rd: false, flag_cd: true }],
    ['AD, AA and TC', 0x0620, { flag_ad: false, flag_aa: false, flag_tc: false }],
  ])('sets RA and of a query with %s copies only RD and CD', (_, flags, expected) => {
    const { decoded } = write(readQuery('a', { flags }), () => undefined);
    expect(decoded).toMatchObject({ ...expected, flag_ra: true, flag_z: false });
  });

  it('sets AA when told so', () => {
    const { decoded } = write(readQuery('a'), (writer) => writer.setAuthoritative());
    expect(decoded.flag_aa).toBe(true);
  });

  it('says the response code', () => {
    const { decoded } = write(readQuery('a'), (writer) => writer.setRcode(RCODE.NXDOMAIN));
    expect((decoded as { rcode?: string }).rcode).toBe('NXDOMAIN');
  });

  it('forgets the answer before', () => {
    const out = new Uint8Array(512);
    const writer = new AnswerWriter();
    writer.begin(readQuery('a.example', { additionals: [opt()] }), out);
    writer.setAuthoritative();
    writer.setRcode(RCODE.SERVFAIL, EXTENDED_ERROR.NOT_READY);
    add(writer, address('a.example', '10.0.0.1'));
    writer.finish();
    writer.begin(readQuery('b'), out);
    expect(writer.answerCount()).toBe(0);
    const decoded = packet.decode(Buffer.from(out.subarray(0, writer.finish())));
    expect(decoded).toMatchObject({ flag_aa: false, rcode: 'NOERROR', answers: [] });
    expect(decoded.additionals).toEqual([]);
  });

  it('writes a header alone for a query whose question could not be read', () => {
    const query = new Query();
    query.read(Buffer.from('123401000000000000000000', 'hex'), 12, false, 512);
    const out = new Uint8Array(512);
    out.set(encodeName('stale.example'), 12);
    const writer = new AnswerWriter();
    writer.begin(query, out);
    // The bytes of an older answer at offset 12 are no name to point to.
    writer.add(SECTION.ANSWER, encodeName('stale.example'), TYPE.A, 1, Uint8Array.of(1, 2, 3, 4));
    const decoded = packet.decode(Buffer.from(out.subarray(0, writer.finish())));
    expect(decoded.questions).toEqual([]);
    expect(decoded.answers?.[0]?.name).toBe('stale.example');
  });
});

describe('AnswerWriter records', () => {
  it('writes records that dns-packet reads the same', () => {
    const records: Answer[] = [
      { type: 'CNAME', name: 'web.x', ttl: 5, data: 'target.example.org' },
      address('target.example.org', '192.0.2.1'),
      { type: 'AAAA', name: 'target.example.org', ttl: 0xffff_ffff, data: '2001:db8::1' },
      { type: 'PTR', name: '1.0.0.10.in-addr.arpa', ttl: 0, data: 'web.x' },
      { type: 'NS', name: 'x', ttl: 30, data: 'ns.dns.x' },
      srv('_http._tcp.web.x', 'a.web.x'),
      { type: 'TXT', name: 'dns-version.x', ttl: 30, data: [Buffer.from('1.1.0')] },
    ];
    const { decoded } = write(readQuery('web.x'), (writer) => {
      for (const record of records) expect(add(writer, record)).toBe(true);
    });
    expect(decoded.answers).toEqual(
      records.map((record) => ({ ...record, class: 'IN', flush: false })),
    );
  });

  it('writes each record to its section', () => {
    const { decoded } = write(readQuery('web.x'), (writer) => {
      add(writer, address('a', '10.0.0.1'), SECTION.ANSWER);
      add(writer, address('b', '10.0.0.2'), SECTION.AUTHORITY);
      add(writer, address('c', '10.0.0.3'), SECTION.ADDITIONAL);
      expect(writer.answerCount()).toBe(1);
    });
    expect(decoded.answers?.map(({ name }) => name)).toEqual(['a']);
    expect(decoded.authorities?.map(({ name }) => name)).toEqual(['b']);
    expect(decoded.additionals?.map(({ name }) => name)).toEqual(['c']);
  });

  it('points to the question where the owner is its name', () => {
    const { bytes, decoded } = write(readQuery('WEB.x'), (writer) => {
      writer.add(SECTION.ANSWER, undefined, TYPE.A, 30, Uint8Array.of(10, 0, 0, 1));
    });
    expect(decoded.answers?.[0]).toMatchObject({ name: 'WEB.x', data: '10.0.0.1' });
    expect(bytes.readUInt16BE(12 + 7 + 4)).toBe(0xc00c);
  });

  it('keeps any set of names as it was', () => {
    fc.assert(
      fc.property(hostNames, fc.array(fc.tuple(hostNames, hostNames)), (question, pairs) => {
        const { decoded } = write(readQuery(question), (writer) => {
          for (const [name, data] of pairs) add(writer, { type: 'CNAME', name, data });
          for (const [name, data] of pairs) add(writer, srv(name, data));
        });
        const written = decoded.answers!.map((record) => {
          const { name, data } = record as { name: string; data: string | { target: string } };
          return [name, typeof data === 'string' ? data : data.target];
        });
        expect(written).toEqual([...pairs, ...pairs]);
      }),
      { numRuns: 50 },
    );
  });
});

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

  it('throws for one that has no room for the question', () => {
    const writer = new AnswerWriter();
    expect(() => writer.begin(readQuery('web.x'), new Uint8Array(22))).toThrow(RangeError);
    const query = readQuery('web.x', { additionals: [opt()] });
    expect(() => writer.begin(query, new Uint8Array(33))).toThrow(RangeError);
  });
});

describe('AnswerWriter EDNS', () => {
  const withOpt = (fields: Parameters<typeof opt>[0] = {}) =>
    readQuery('web.x', { additionals: [opt(fields)] });

  it('adds OPT exactly when the query had one', () => {
    expect(write(readQuery('web.x'), () => undefined).decoded.additionals).toEqual([]);
    const { decoded } = write(withOpt(), () => undefined);
    expect(decoded.additionals).toMatchObject([
      {
        type: 'OPT',
        name: '.',
        udpPayloadSize: 1232,
        ednsVersion: 0,
        extendedRcode: 0,
        options: [],
      },
    ]);
  });

  it('puts OPT behind the additional records', () => {
    const { decoded } = write(withOpt(), (writer) => {
      add(writer, address('a.x', '10.0.0.1'), SECTION.ADDITIONAL);
    });
    expect(decoded.additionals?.map(({ type }) => type)).toEqual(['A', 'OPT']);
  });

  it.each([true, false])('echoes DO %s', (isDnssecOk) => {
    const { decoded } = write(withOpt({ isDnssecOk }), () => undefined);
    expect(decoded.additionals).toMatchObject([{ flag_do: isDnssecOk }]);
  });

  it('says an extended error', () => {
    const { decoded } = write(withOpt(), (writer) => {
      writer.setRcode(RCODE.SERVFAIL, EXTENDED_ERROR.NOT_READY);
    });
    expect((decoded as { rcode?: string }).rcode).toBe('SERVFAIL');
    expect(decoded.additionals).toMatchObject([
      { options: [{ code: 15, data: Buffer.from([0, 14]) }] },
    ]);
  });

  it('says no extended error to a client without EDNS', () => {
    const { decoded } = write(readQuery('web.x'), (writer) => {
      writer.setRcode(RCODE.SERVFAIL, EXTENDED_ERROR.NOT_READY);
    });
    expect(decoded.additionals).toEqual([]);
  });

  it('splits a response code above 15 between header and OPT', () => {
    const { decoded } = write(withOpt(), (writer) => writer.setRcode(RCODE.BADVERS));
    expect((decoded as { rcode?: string }).rcode).toBe('NOERROR');
    expect(decoded.additionals).toMatchObject([{ extendedRcode: 1 }]);
  });
});

describe('isSameRecord', () => {
  const record = {
    owner: encodeName('a.x'),
    type: TYPE.A,
    ttlSeconds: 1,
    rdata: Uint8Array.of(1, 2, 3, 4),
  };

  it('ignores TTL and the case of the owner', () => {
    expect(isSameRecord(record, { ...record, ttlSeconds: 9, owner: encodeName('A.X') })).toBe(true);
  });

  it.each([
    ['owner', { owner: encodeName('b.x') }],
    ['type', { type: TYPE.AAAA }],
    ['data', { rdata: Uint8Array.of(1, 2, 3, 5) }],
  ])('tells records of another %s apart', (_, other) => {
    expect(isSameRecord(record, { ...record, ...other })).toBe(false);
  });
});
