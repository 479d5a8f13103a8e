import { describe, expect, it } from '@jest/globals';
import packet from 'dns-packet';
import type { Packet } from 'dns-packet';
import { addressRecords, opt, queryBytes, readQuery, responseBytes } from '../test/messages.js';
import { extendedErrorOption } from './opt-record.js';
import { EXTENDED_ERROR, RCODE } from './protocol.js';
import { adaptReply, encodeRefusal, relayTargetOf } from './relay.js';
import { ReplyOutline } from './reply-outline.js';

const out = new Uint8Array(65_535);
const client = (name: string, fields: Packet = {}) => relayTargetOf(readQuery(name, fields));

function adapt(reply: Buffer, target: ReturnType<typeof client>) {
  const adapted = adaptedBytes(reply, target);
  return adapted && packet.decode(adapted);
}

function adaptedBytes(reply: Uint8Array, target: ReturnType<typeof client>) {
  const length = adaptReply(reply, target, new ReplyOutline().read(reply), out);
  return length < 0 ? undefined : Buffer.from(out.subarray(0, length));
}

describe('relayTargetOf', () => {
  it('does not change when the listener reads the next query', () => {
    const query = readQuery('wEb.x');
    const target = relayTargetOf(query);
    query.bytes.fill(0xff);
    const question = target.message.subarray(12, target.questionEnd);
    expect(Buffer.from(question)).toEqual(queryBytes('wEb.x').subarray(12));
    expect(target).toMatchObject({ id: 0x1234, hasEdns: false });
  });

  it('takes the question from a message that stays, when that has the same spelling', () => {
    const query = readQuery('wEb.x');
    const [same, other] = ['wEb.x', 'web.x'].map((name) => queryBytes(name));
    expect(relayTargetOf(query, false, false, same).message).toBe(same);
    const { message, questionEnd } = relayTargetOf(query, false, false, other);
    expect(Buffer.from(message.subarray(12, questionEnd))).toEqual(same!.subarray(12));
  });
});

describe('adaptReply', () => {
  it('replaces OPT by one of ours: our size, and DO as the client asked', () => {
    for (const isDnssecOk of [false, true]) {
      for (const additionals of [
        [],
        [{ ...opt(), udpPayloadSize: 512, flags: packet.DNSSEC_OK }],
      ]) {
        const reply = responseBytes('a', { answers: addressRecords('a', 1), additionals });
        const query = readQuery('a', { additionals: [opt()] });
        query.isDnssecOk = isDnssecOk;
        expect(adapt(reply, relayTargetOf(query))).toMatchObject({
          answers: [{ data: '10.0.0.0' }],
          additionals: [{ type: 'OPT', udpPayloadSize: 4096, flag_do: isDnssecOk, options: [] }],
        });
      }
    }
  });

  it("passes on no option of the server's but its Extended DNS Errors", () => {
    const reply = withOptions(
      '000a0010' + 'aa'.repeat(16),
      '000f00020016',
      '0003000161',
      '00080000',
    );
    const target = client('a', { additionals: [opt()] });
    expect(optionsOf(reply, target)).toBe('000f00020016');
    expect(optionsOf(reply, { ...target, passesSubnet: true })).toBe('000f0002001600080000');
    expect(optionsOf(withOptions('000f0002'), target)).toBe('');
  });

  it('leaves out the additional records after OPT, whose names may point behind it', () => {
    const reply = responseBytes('a', {
      additionals: [...addressRecords('b', 1), opt(), ...addressRecords('c', 1)],
    });
    expect(adapt(reply, client('a', { additionals: [opt()] }))).toMatchObject({
      additionals: [{ name: 'b' }, { type: 'OPT' }],
    });
  });

  it('leaves a signed reply as it is after the header', () => {
    const signature = Buffer.from('0000fa00ff000000000000', 'hex');
    const reply = Buffer.concat([responseBytes('a', { additionals: [opt()] }), signature]);
    reply.writeUInt16BE(2, 10);
    const adapted = adaptedBytes(reply, client('a'))!;
    expect(adapted.subarray(12)).toEqual(reply.subarray(12));
  });

  it('clears AD, unless it is to be passed on', () => {
    for (const passesAd of [false, true]) {
      const target = relayTargetOf(readQuery('a'), passesAd);
      const reply = responseBytes('a', { flags: packet.AUTHENTIC_DATA });
      expect(adapt(reply, target)).toMatchObject({ flag_ad: passesAd });
    }
  });

  it("gives the reply the client's ID and spelling, and keeps its records", () => {
    const reply = responseBytes('web.x', { id: 9, answers: addressRecords('web.x', 2) });
    expect(adapt(reply, client('WEB.x'))).toMatchObject({
      id: 0x1234,
      questions: [{ name: 'WEB.x' }],
      answers: [{ data: '10.0.0.0' }, { data: '10.0.0.1' }],
    });
  });

  it('sets RA, keeps AA and the response code, and clears AD', () => {
    const flags = packet.AUTHORITATIVE_ANSWER | packet.AUTHENTIC_DATA | RCODE.NXDOMAIN;
    expect(adapt(responseBytes('a', { flags }), client('a'))).toMatchObject({
      flag_ra: true,
      flag_aa: true,
      flag_ad: false,
      rcode: 'NXDOMAIN',
    });
  });

  it('copies RD and CD from the client', () => {
    const target = client('a', { flags: packet.CHECKING_DISABLED });
    expect(adapt(responseBytes('a'), target)).toMatchObject({ flag_rd: false, flag_cd: true });
    const other = responseBytes('a', { flags: packet.CHECKING_DISABLED });
    expect(adapt(other, client('a'))).toMatchObject({ flag_rd: true, flag_cd: false });
  });

  it('takes OPT away from a client without EDNS', () => {
    const reply = responseBytes('a', { additionals: [...addressRecords('b', 1), opt()] });
    const decoded = adapt(reply, client('a'));
    expect(decoded).toMatchObject({ additionals: [{ type: 'A', name: 'b' }] });
  });

  it('leaves OPT to a client with EDNS', () => {
    const reply = responseBytes('a', { additionals: [opt()] });
    const decoded = adapt(reply, client('a', { additionals: [opt()] }));
    expect(decoded).toMatchObject({ additionals: [{ type: 'OPT' }] });
  });

  it.each([
    ['with OPT', [opt()]],
    ['without', []],
  ])('passes on nothing behind the last record, %s', (_what, additionals) => {
    const whole = responseBytes('a', { answers: addressRecords('a', 1), additionals });
    const reply = Buffer.concat([whole, Buffer.from('more')]);
    const adapted = adaptedBytes(reply, client('a', { additionals: [opt()] }))!;
    expect(adapted.includes('more')).toBe(false);
  });

  it('takes a refusal without a question', () => {
    const reply = responseBytes('a', { questions: [], flags: RCODE.FORMERR });
    expect(adapt(reply, client('a'))).toMatchObject({ id: 0x1234, rcode: 'FORMERR' });
  });

  it.each([
    ['about a name of another length', responseBytes('ab')],
    ['about another name of the same length', responseBytes('b')],
    ['about another type', responseBytes('a', { questions: [{ name: 'a', type: 'AAAA' }] })],
    // Types 65 and 97 differ in the bit that upper and lower case differ in.
    ['about a type that is a letter of the other case', typed(97)],
    [
      'about another class',
      responseBytes('a', { questions: [{ name: 'a', type: 'A', class: 'CH' }] }),
    ],
    [
      'with two questions as long as one',
      responseBytes('a', {
        questions: [
          { name: '.', type: 'A' },
          { name: '.', type: 'A' },
        ],
      }),
    ],
    ['that breaks off', responseBytes('a', { answers: addressRecords('a', 1) }).subarray(0, -1)],
    ['shorter than a header', Buffer.alloc(11)],
  ])('refuses a reply %s and leaves its bytes alone', (reason, reply) => {
    const before = Buffer.from(reply);
    const name = reason.includes('two questions') ? 'abcd' : 'a';
    const target = reason.includes('letter') ? relayOfType(65) : client(name);
    expect(adapt(reply, target)).toBeUndefined();
    expect(reply).toEqual(before);
  });
});

describe('encodeRefusal', () => {
  it('echoes ID, question and RD, and says the response code', () => {
    const refusal = Buffer.from(encodeRefusal(client('wEb.x'), RCODE.REFUSED));
    expect(packet.decode(refusal)).toMatchObject({
      id: 0x1234,
      type: 'response',
      rcode: 'REFUSED',
      flag_rd: true,
      flag_ra: true,
      questions: [{ name: 'wEb.x', type: 'A' }],
      answers: [],
      additionals: [],
    });
  });

  it('has OPT for a client with EDNS', () => {
    const target = client('a', { additionals: [opt()] });
    const refusal = Buffer.from(encodeRefusal(target, RCODE.SERVFAIL));
    expect(packet.decode(refusal)).toMatchObject({
      rcode: 'SERVFAIL',
      additionals: [{ type: 'OPT', udpPayloadSize: 4096 }],
    });
  });

  it('has an Extended DNS Error with a text for a client with EDNS', () => {
    const target = client('a', { additionals: [opt()] });
    const other = extendedErrorOption(EXTENDED_ERROR.OTHER, 'no');
    const refusal = Buffer.from(encodeRefusal(target, RCODE.SERVFAIL, other));
    expect(refusal.subarray(-10).toString('hex')).toBe('0008000f000400006e6f');
    expect(encodeRefusal(client('a'), RCODE.SERVFAIL, other)).toHaveLength(19);
  });

  it.each([0, 0x80])('copies the DO bit: %d', (dnssecOk) => {
    const query = readQuery('a', { additionals: [opt()] });
    query.isDnssecOk = dnssecOk !== 0;
    const refusal = encodeRefusal(relayTargetOf(query), RCODE.SERVFAIL);
    expect([...refusal.subarray(-4)]).toEqual([dnssecOk, 0, 0, 0]);
  });
});

/** A reply with these options, in hexadecimal. */
function withOptions(...options: string[]): Buffer {
  const data = Buffer.from(options.join(''), 'hex');
  const reply = Buffer.concat([responseBytes('a', { additionals: [opt()] }), data]);
  reply.writeUInt16BE(data.length, reply.length - data.length - 2);
  return reply;
}

function optionsOf(reply: Buffer, target: ReturnType<typeof client>): string {
  return adaptedBytes(reply, target)!
    .subarray(19 + 11)
    .toString('hex');
}

function typed(type: number): Buffer {
  const reply = responseBytes('a');
  reply.writeUInt16BE(type, 15);
  return reply;
}

function relayOfType(type: number) {
  const { message, ...rest } = client('a');
  message[16] = type;
  return { ...rest, message };
}
