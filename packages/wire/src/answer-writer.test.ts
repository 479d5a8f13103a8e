import { describe, expect, it } from '@jest/globals';
import packet from 'dns-packet';
import type { Answer } from 'dns-packet';
import fc from 'fast-check';
import { hostNames } from '../test/arbitraries.js';
import { opt, readQuery } from '../test/messages.js';
import { add, address, srv, write } from '../test/writing.js';
import { AnswerWriter } from './answer-writer.js';
import { encodeName } from './name.js';
import { extendedErrorOption } from './opt-record.js';
import { EXTENDED_ERROR, RCODE, TYPE } from './protocol.js';
import { Query } from './query.js';
import { SECTION } from './record-cursor.js';

const NOT_READY = extendedErrorOption(EXTENDED_ERROR.NOT_READY);

describe('AnswerWriter header and question', () => {
  it('echoes ID and question, in the same case', () => {
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

  it('sets AA when requested', () => {
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
    writer.setRcode(RCODE.SERVFAIL, NOT_READY);
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

  it('writes any set of names unchanged', () => {
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
        udpPayloadSize: 4096,
        ednsVersion: 0,
        extendedRcode: 0,
        options: [],
      },
    ]);
  });

  it('points to the end of the question for an owner above its name', () => {
    const { decoded, bytes } = write(readQuery('no.Web.x'), (writer) => {
      expect(writer.addAbove(SECTION.AUTHORITY, 3, TYPE.A, 5, Uint8Array.of(10, 0, 0, 1))).toBe(
        true,
      );
      add(writer, address('host.web.x', '10.0.0.2'), SECTION.ADDITIONAL);
    });
    expect(decoded.authorities).toMatchObject([{ name: 'Web.x', data: '10.0.0.1' }]);
    expect(decoded.additionals).toMatchObject([{ name: 'host.Web.x', data: '10.0.0.2' }]);
    expect(Buffer.from(bytes).toString('latin1')).not.toContain('web');
  });

  it('leaves out a record above the name that does not fit', () => {
    const writer = new AnswerWriter();
    writer.begin(readQuery('web.x'), new Uint8Array(1_024), 512);
    expect(writer.addAbove(SECTION.AUTHORITY, 4, TYPE.A, 5, new Uint8Array(500))).toBe(false);
    expect(writer.isFull).toBe(true);
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
      writer.setRcode(RCODE.SERVFAIL, NOT_READY);
    });
    expect((decoded as { rcode?: string }).rcode).toBe('SERVFAIL');
    expect(decoded.additionals).toMatchObject([
      { options: [{ code: 15, data: Buffer.from([0, 14]) }] },
    ]);
  });

  it('says no extended error to a client without EDNS', () => {
    const { decoded } = write(readQuery('web.x'), (writer) => {
      writer.setRcode(RCODE.SERVFAIL, NOT_READY);
    });
    expect(decoded.additionals).toEqual([]);
  });

  it('splits a response code above 15 between header and OPT', () => {
    const { decoded } = write(withOpt(), (writer) => writer.setRcode(RCODE.BADVERS));
    expect((decoded as { rcode?: string }).rcode).toBe('NOERROR');
    expect(decoded.additionals).toMatchObject([{ extendedRcode: 1 }]);
  });
});
