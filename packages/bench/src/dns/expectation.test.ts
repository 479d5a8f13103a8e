import { describe, expect, it } from '@jest/globals';
import { CLASS, decodeMessage, encodeQuery, TYPE, writeUint16 } from '@kube-dns/wire';
import { Asked, messageId } from './expectation.js';

const NAME = 'web.shop.svc.cluster.local';

const QR = 0x80;
const TTL_SECONDS = 30;

/** A response with one address record for each address, its owner a pointer to the question. */
function answer(
  fields: { rcode?: number; addresses?: readonly string[]; name?: string; id?: number } = {},
): Buffer {
  const { rcode = 0, addresses = [], name = NAME, id = 1 } = fields;
  const head = encodeQuery({ id, name, type: 'A' });
  head[2] = QR;
  head[3] = rcode;
  writeUint16(head, 6, addresses.length);
  const records = addresses.map((address) =>
    Buffer.from(
      [0xc0, 12, 0, TYPE.A, 0, CLASS.IN, 0, 0, 0, TTL_SECONDS, 0, 4].concat(
        address.split('.').map(Number),
      ),
    ),
  );
  return Buffer.concat([head, ...records]);
}

describe('an expected answer', () => {
  const asked = new Asked({ name: NAME, type: 'A', address: '10.0.0.2' });

  it('is asked for with EDNS', () => {
    const query = decodeMessage(asked.query);
    expect(query.questions).toMatchObject([{ name: NAME, type: 'A' }]);
    expect(query.additionals).toMatchObject([{ type: 'OPT', udpPayloadSize: 4096 }]);
  });

  it('is right when the address is among the records', () => {
    expect(asked.isRight(answer({ addresses: ['10.0.0.1', '10.0.0.2'] }))).toBe(true);
  });

  it.each([
    ['another address', answer({ addresses: ['10.0.0.3'] })],
    ['no record', answer()],
    ['another rcode', answer({ rcode: 2, addresses: ['10.0.0.2'] })],
    ['another name', answer({ name: 'api.shop.svc.cluster.local', addresses: ['10.0.0.2'] })],
    ['a query', asked.query],
    ['too few bytes', Buffer.alloc(5)],
  ])('is wrong with %s', (_what, message) => {
    expect(asked.isRight(message)).toBe(false);
  });

  it('is right with any record when no address is expected', () => {
    const any = new Asked({ name: NAME, type: 'A' });
    expect(any.isRight(answer({ addresses: ['10.0.0.9'] }))).toBe(true);
    expect(any.isRight(answer())).toBe(false);
  });

  it('is right with as many records as expected', () => {
    const one = new Asked({ name: NAME, type: 'A', address: '10.0.0.2', count: 1 });
    expect(one.isRight(answer({ addresses: ['10.0.0.2'] }))).toBe(true);
    expect(one.isRight(answer({ addresses: ['10.0.0.1', '10.0.0.2'] }))).toBe(false);
  });

  it('is right with the rcode that is expected', () => {
    const none = new Asked({ name: NAME, type: 'A', rcode: 'NXDOMAIN' });
    expect(none.isRight(answer({ rcode: 3 }))).toBe(true);
    expect(none.isRight(answer({ addresses: ['10.0.0.2'] }))).toBe(false);
  });

  it('is identified by its ID', () => {
    expect(messageId(answer({ id: 4711 }))).toBe(4711);
    expect(messageId(Buffer.alloc(3))).toBe(-1);
  });
});
