import { describe, expect, it } from '@jest/globals';
import {
  decodeMessage,
  extendedErrorOption,
  FLAG,
  RCODE,
  readUint16,
  writeUint16,
} from '@kube-dns/wire';
import { queryFor, responseWith } from '../../test/questions.js';
import { bareRefusal } from './failure.js';

const OPT_WITH_ERROR = Buffer.from('00002904d0000000000006000f00020016', 'hex');
const MARKED_ERROR = extendedErrorOption(22, 'upstream');

describe('a refusal that is passed on', () => {
  it.each([
    ['its records', ['192.0.2.1', '192.0.2.2']],
    ['no record, when it has none', []],
  ])('loses AA and %s, and keeps its rcode and the reason', (_what, addresses) => {
    const query = queryFor({ name: 'a.example' });
    const response = { rcode: RCODE.SERVFAIL, addresses };
    const reply = Buffer.concat([responseWith(query, response, [], true), OPT_WITH_ERROR]);
    writeUint16(reply, 10, 1);
    const bare = bareRefusal(reply);
    expect(readUint16(bare, 2) & (FLAG.AA | FLAG.TC)).toBe(0);
    expect(decodeMessage(bare)).toMatchObject({ rcode: 'SERVFAIL', answers: [] });
    expect(Uint8Array.from(bare.subarray(-MARKED_ERROR.length))).toEqual(MARKED_ERROR);
  });
});
