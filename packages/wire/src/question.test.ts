import { describe, expect, it } from '@jest/globals';
import packet from 'dns-packet';
import { encodeName } from './name.js';
import { TYPE } from './protocol.js';
import { Query } from './query.js';
import { buildQuery } from './question.js';

describe('buildQuery', () => {
  it('asks one question with RD', () => {
    expect(packet.decode(Buffer.from(buildQuery(encodeName('Web.x'), TYPE.SRV)))).toMatchObject({
      id: 0,
      type: 'query',
      flag_rd: true,
      questions: [{ name: 'Web.x', type: 'SRV', class: 'IN' }],
      additionals: [],
    });
  });

  it('makes a message that a listener answers', () => {
    const bytes = buildQuery(encodeName('.'), TYPE.NS);
    expect(new Query().read(bytes, bytes.length, false, 512)).toBe('answer');
  });
});
