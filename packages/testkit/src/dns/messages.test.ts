import { describe, expect, it } from '@jest/globals';
import {
  addressRecords,
  decodeMessage,
  ednsOf,
  ednsText,
  encodeQuery,
  encodeReply,
  questionEnd,
  questionOf,
  rcodeOf,
} from './messages.js';

describe('a query', () => {
  it('asks for the address of a name, with RD', () => {
    const message = decodeMessage(encodeQuery({ name: 'Host.Example' }));
    expect(message).toMatchObject({ id: 0x1234, flags: 0x0100, answers: [], additionals: [] });
    expect(message.questions).toEqual([{ name: 'Host.Example', type: 'A', class: 'IN' }]);
  });

  it('asks for any type and class', () => {
    expect(questionOf(encodeQuery({ name: 'version.bind', type: 'TXT', class: 'CH' }))).toEqual({
      name: 'version.bind',
      type: 'TXT',
      class: 'CH',
    });
    const bytes = encodeQuery({ name: 'a', type: 65_280, class: 0x0304 });
    expect(bytes.subarray(-4).toString('hex')).toBe('ff000304');
    expect(() => encodeQuery({ name: 'a', type: 'BOGUS' })).toThrow('unknown record type BOGUS');
  });

  it('has an OPT record when it offers a size', () => {
    const bytes = encodeQuery({
      name: 'a',
      ednsBytes: 1_232,
      isDnssecOk: true,
      options: ['10 0101010101010101'],
    });
    expect(decodeMessage(bytes).additionals).toMatchObject([
      { type: 'OPT', udpPayloadSize: 1_232, flag_do: true, options: [{ code: 10 }] },
    ]);
    expect(questionOf(bytes)).toEqual({ name: 'a', type: 'A', class: 'IN' });
  });
});

describe('a reply', () => {
  const query = encodeQuery({ id: 7, name: 'Host.Example', ednsBytes: 4_096 });

  it('has the ID and the question of the query, and records of its name', () => {
    const reply = decodeMessage(encodeReply(query, { answers: addressRecords(30, '192.0.2.1') }));
    expect(reply).toMatchObject({
      id: 7,
      flags: 0x8180,
      rcode: 'NOERROR',
      questions: [{ name: 'Host.Example' }],
      answers: [{ name: 'Host.Example', type: 'A', ttl: 30, data: '192.0.2.1' }],
      texts: ['A 192.0.2.1'],
      ttls: [30],
    });
  });

  it('has an rcode and flags', () => {
    const bytes = encodeReply(query, {
      rcode: 'NXDOMAIN',
      isAuthoritative: true,
      isTruncated: true,
      isRecursionAvailable: false,
    });
    expect(rcodeOf(bytes)).toBe('NXDOMAIN');
    expect(decodeMessage(bytes)).toMatchObject({ flags: 0x8703, isTruncated: true });
  });

  it('has an OPT record where the query has one, with the DO of the query and options', () => {
    const signed = encodeQuery({ name: 'a', options: ['10 0102'], isDnssecOk: true });
    const reply = encodeReply(signed, { options: ['15 0016', '3 '] });
    expect(ednsOf(reply)).toEqual({
      ednsBytes: 1_232,
      isDnssecOk: true,
      options: ['15 0016', '3 '],
      rcode: 0,
    });
    expect([signed, reply].map(ednsText)).toEqual(['1232 | 10 0102', '1232 | 15 0016 | 3 ']);
    expect(ednsText(encodeReply(signed, { hasNoOpt: true }))).toBe('none');
    expect(ednsText(encodeReply(encodeQuery({ name: 'a' })))).toBe('none');
    expect(ednsText(reply.subarray(0, -1))).toBe('1232 | 15 0016');
    expect(ednsText(reply.subarray(0, -11))).toBe('none');
  });

  it('is made to a message with a question only', () => {
    expect(questionEnd(Buffer.alloc(12))).toBe(-1);
    expect(() => encodeReply(query.subarray(0, 20))).toThrow('no question');
  });
});
