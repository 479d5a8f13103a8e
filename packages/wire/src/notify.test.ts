import { expect, it } from '@jest/globals';
import { encodeKey } from './name.js';
import { writeNotify } from './notify.js';
import { decodeMessage, encodeRdata } from './packet.js';
import { OPCODE_MASK, OPCODE_NOTIFY, SAFE_UDP_BYTES } from './protocol.js';
import { Query } from './query.js';

const SOA = {
  mname: 'ns.dns.cluster.local',
  rname: 'hostmaster.cluster.local',
  serial: 1_700_000_000,
  refresh: 1,
  retry: 2,
  expire: 3,
  minimum: 4,
};

it('a NOTIFY has the name as its question and the SOA as its answer, and is read as a query is', () => {
  const message = writeNotify({
    id: 0x1234,
    name: encodeKey('web.default.svc.cluster.local'),
    apex: encodeKey('cluster.local'),
    soaRdata: encodeRdata({ type: 'SOA', name: '.', data: SOA }),
    ttlSeconds: 30,
  });
  expect(decodeMessage(message)).toMatchObject({
    id: 0x1234,
    answers: [{ name: 'cluster.local', type: 'SOA', ttl: 30, data: SOA }],
  });
  const query = new Query();
  expect(query.read(message, message.length, false, SAFE_UDP_BYTES)).toBe('notimp');
  expect(query.readBody()).toBe('answer');
  expect(query.flags & OPCODE_MASK).toBe(OPCODE_NOTIFY);
  expect(query).toMatchObject({ type: 6, class: 1, hasOtherRecords: true });
});
