import { describe, expect, it } from '@jest/globals';
import { encodeQuery } from '@kube-dns/wire';
import { replyTo } from '../test/messages.js';
import { isReplyTo } from './reply-match.js';

const query = encodeQuery({ id: 0x1234, name: 'wEb.x', type: 'A' });
const good = replyTo(query);

/** A good reply with some of its bytes changed. */
function changed(edit: (reply: Buffer) => void): Buffer {
  const reply = Buffer.from(good);
  edit(reply);
  return reply;
}

/** The bare header of a reply. */
function bare(rcode: number): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt16BE(0x1234, 0);
  header.writeUInt16BE(0x8000 | rcode, 2);
  return header;
}

describe('isReplyTo', () => {
  it.each([
    ['the same question', good],
    ['the question in other letters', changed((reply) => reply.write('WeB', 13))],
    ['records behind the question', replyTo(query, { addresses: ['10.0.0.1'] })],
    ['SERVFAIL and the question', replyTo(query, { rcode: 2 })],
    ['FORMERR without a question', bare(1)],
    ['NOTIMP without a question', bare(4)],
  ])('takes a reply with %s', (_, reply) => {
    expect(isReplyTo(query, reply)).toBe(true);
  });

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['less than a header', good.subarray(0, 11)],
    ['another ID', changed((reply) => reply.writeUInt16BE(0x1235, 0))],
    ['QR clear', changed((reply) => reply.writeUInt16BE(0x0180, 2))],
    ['another name', changed((reply) => reply.write('wab', 13))],
    ['a longer name', replyTo(encodeQuery({ id: 0x1234, name: 'web.xy', type: 'A' }))],
    ['another type', changed((reply) => reply.writeUInt16BE(28, good.length - 4))],
    ['another class', changed((reply) => reply.writeUInt16BE(3, good.length - 2))],
    ['a question that is cut off', good.subarray(0, -1)],
    ['two questions', changed((reply) => reply.writeUInt16BE(2, 4))],
    ['NOERROR without a question', bare(0)],
    ['SERVFAIL without a question', bare(2)],
    ['REFUSED without a question', bare(5)],
  ])('takes no reply with %s', (_, reply) => {
    expect(isReplyTo(query, reply)).toBe(false);
  });

  it('does not fold the letters of type and class', () => {
    const asked = changed((message) => message.writeUInt16BE(65, good.length - 4));
    const other = changed((message) => message.writeUInt16BE(97, good.length - 4));
    expect(isReplyTo(asked, asked)).toBe(true);
    expect(isReplyTo(asked, other)).toBe(false);
  });
});
