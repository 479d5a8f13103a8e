import { describe, expect, it } from '@jest/globals';
import type { Packet } from 'dns-packet';
import { addressRecords, opt, responseBytes } from '../test/messages.js';
import { writeUint32 } from './bytes.js';
import { EDNS_OPTION, extendedErrorOption, OPT_BYTES } from './opt-record.js';
import { RecordCursor } from './record-cursor.js';
import { ReplyOutline } from './reply-outline.js';

const outlineOf = (message: Uint8Array) => new ReplyOutline().read(message);
const NS = { name: 'example', type: 'NS', data: 'ns.example' } as const;
const SOA = {
  name: 'example',
  type: 'SOA',
  data: { mname: 'ns.example', rname: 'root.example' },
} as const;

function reply(fields: Packet): Buffer {
  return responseBytes('a.example', fields);
}

describe('the outline of a reply', () => {
  it('has where the question and the records end, and the OPT record with its options', () => {
    const message = reply({ answers: addressRecords('a.example', 1), additionals: [opt()] });
    const outline = outlineOf(message);
    const questionEnd = new RecordCursor().reset(message, message.length).end;
    expect(outline).toMatchObject({ questionEnd, end: message.length, isMalformed: false });
    expect(outline).toMatchObject({ optAt: message.length - OPT_BYTES, hasOptions: false });
    const option = extendedErrorOption(6, 'text');
    const longer = Buffer.concat([message, option]);
    longer[message.length - 1] = option.length;
    expect(outlineOf(longer)).toMatchObject({
      hasOptions: true,
      optionsAt: message.length,
      optionsEnd: longer.length,
    });
    expect(outlineOf(longer).optionAt(EDNS_OPTION.EXTENDED_ERROR)).toBe(message.length);
    expect(outlineOf(longer).optionAt(EDNS_OPTION.COOKIE)).toBe(-1);
  });

  it('counts the records that make a referral, and those before OPT', () => {
    const outline = outlineOf(
      reply({
        authorities: [NS, NS, SOA],
        additionals: [...addressRecords('b.example', 1), opt(), ...addressRecords('c.example', 1)],
      }),
    );
    expect(outline).toMatchObject({ nameServers: 2, owners: 1, additionals: 1, isSigned: false });
  });

  it('has nothing of the message that was read before', () => {
    const outline = outlineOf(reply({ authorities: [NS, SOA], additionals: [opt()] }));
    outline.read(reply({}));
    expect(outline).toMatchObject({ optAt: -1, nameServers: 0, owners: 0, hasOptions: false });
    expect(outline.hasRecords).toBe(false);
  });

  it('knows upper bits of the rcode, and TTLs with the top bit', () => {
    const message = reply({ answers: addressRecords('a.example', 1), additionals: [opt()] });
    expect(outlineOf(message)).toMatchObject({ hasExtendedRcode: false, hasTopBit: false });
    message[message.length - OPT_BYTES + 5] = 0x81;
    expect(outlineOf(message)).toMatchObject({ upperRcode: 0x81, hasTopBit: false });
    const cursor = new RecordCursor().reset(message, message.length);
    cursor.next();
    writeUint32(message, cursor.ttlAt, 0x8000_0000);
    expect(outlineOf(message)).toMatchObject({ hasExtendedRcode: true, hasTopBit: true });
  });

  it('says of a message that is cut anywhere that it is malformed', () => {
    const message = reply({ answers: addressRecords('a.example', 1), additionals: [opt()] });
    for (let length = 0; length < message.length; length++) {
      expect(outlineOf(message.subarray(0, length)).isMalformed).toBe(true);
    }
  });
});
