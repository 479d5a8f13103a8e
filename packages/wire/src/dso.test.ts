import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { CLUSTER_VERSION_BYTES } from './cluster-version.js';
import {
  changedTlv,
  clusterVersionTlv,
  DSO_TYPE,
  isDso,
  readChanged,
  readClusterVersion,
  readDso,
  serialTlv,
  writeDso,
} from './dso.js';
import { ROOT_NAME } from './name.js';
import { RCODE } from './protocol.js';

const tlv = fc.record({
  type: fc.integer({ min: 0, max: 0xffff }),
  data: fc.uint8Array({ maxLength: 300 }),
});
const message = fc.record({
  id: fc.integer({ min: 0, max: 0xffff }),
  isResponse: fc.boolean(),
  rcode: fc.constantFrom(RCODE.NOERROR, RCODE.FORMERR, RCODE.NOTAUTH, RCODE.DSOTYPENI),
  tlvs: fc.array(tlv, { maxLength: 5 }),
});

/** A keepalive request as RFC 8490 section 7.1 draws it: both times are 15 s. */
const KEEPALIVE = '1234' + '3000' + '0000000000000000' + '00010008' + '00003a98' + '00003a98';

describe('messages of DNS Stateful Operations', () => {
  it('are read as they were written', () => {
    fc.assert(
      fc.property(message, (written) => {
        const bytes = writeDso(written);
        expect(isDso(bytes)).toBe(true);
        expect(readDso(bytes)).toEqual(written);
      }),
    );
  });

  it('have the layout of RFC 8490', () => {
    const bytes = Uint8Array.from(Buffer.from(KEEPALIVE, 'hex'));
    const read = readDso(bytes)!;
    expect(read).toMatchObject({ id: 0x1234, isResponse: false, rcode: 0 });
    expect(read.tlvs.map(({ type }) => type)).toEqual([DSO_TYPE.KEEPALIVE]);
    expect(Buffer.from(writeDso(read)).toString('hex')).toBe(KEEPALIVE);
  });

  it('are malformed with records, or when a TLV does not end with the message', () => {
    const bytes = Uint8Array.from(Buffer.from(KEEPALIVE, 'hex'));
    expect(readDso(bytes.slice(0, -1))).toBeUndefined();
    expect(readDso(Uint8Array.from([...bytes, 0]))).toBeUndefined();
    const withQuestion = bytes.slice();
    withQuestion[5] = 1;
    expect(readDso(withQuestion)).toBeUndefined();
  });

  it('have 16 TLVs at most, so that empty ones do not become many objects', () => {
    const empty = { type: 0, data: new Uint8Array(0) };
    const withTlvs = (length: number) =>
      writeDso({ id: 1, isResponse: false, rcode: 0, tlvs: Array.from({ length }, () => empty) });
    expect(readDso(withTlvs(16))?.tlvs).toHaveLength(16);
    expect(readDso(withTlvs(17))).toBeUndefined();
  });

  it('name 256 names at most that changed', () => {
    const withNames = (length: number) =>
      changedTlv({ before: 0, after: 1, names: Array.from({ length }, () => ROOT_NAME) });
    expect(readChanged(withNames(256).data)?.names).toHaveLength(256);
    expect(readChanged(withNames(257).data)).toBeUndefined();
  });

  it('say the version of the cluster beside their operation', () => {
    const version = Uint8Array.from({ length: CLUSTER_VERSION_BYTES }, (_, at) => at);
    const heartbeat = serialTlv(DSO_TYPE.HEARTBEAT, 1);
    const note = { isPart: false, isResumed: false };
    const whole = clusterVersionTlv(version, { isPart: true });
    expect(readClusterVersion([heartbeat, whole])).toEqual({ ...note, version, isPart: true });
    const none = clusterVersionTlv(undefined, { isResumed: true });
    const read = readClusterVersion([heartbeat, serialTlv(0xf8ff, 2), none]);
    expect(read).toEqual({ ...note, version: undefined, isResumed: true });
    const cut = { ...whole, data: whole.data.subarray(0, -1) };
    const unsound = [
      [heartbeat],
      [whole],
      [heartbeat, cut],
      [heartbeat, { ...whole, data: new Uint8Array(0) }],
    ];
    for (const tlvs of unsound) expect(readClusterVersion(tlvs)).toBeUndefined();
  });

  it('have a version that is copied: the bytes of the message are used again', () => {
    const whole = clusterVersionTlv(new Uint8Array(CLUSTER_VERSION_BYTES).fill(1));
    const read = readClusterVersion([serialTlv(DSO_TYPE.HEARTBEAT, 1), whole])!;
    whole.data.fill(9);
    expect(read.version).toEqual(new Uint8Array(CLUSTER_VERSION_BYTES).fill(1));
  });

  it('are read whatever the bytes, without an error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 12, maxLength: 200 }), (bytes) => {
        bytes[2] = 0x30;
        readClusterVersion(readDso(bytes)?.tlvs ?? []);
      }),
    );
  });

  it('have an own opcode', () => {
    expect(isDso(new Uint8Array(12))).toBe(false);
    expect(isDso(new Uint8Array([0, 0, 0x30]))).toBe(false);
  });
});
