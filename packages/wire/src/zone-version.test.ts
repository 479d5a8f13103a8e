import { describe, expect, it } from '@jest/globals';
import { bytesOf, opt, queryBytes } from '../test/messages.js';
import { appendOpt, extendedErrorOption, NO_EDNS_OPTIONS } from './opt-record.js';
import { Query } from './query.js';
import { ANSWER_VERSION_BYTES, CLUSTER_VERSION_BYTES } from './cluster-version.js';
import {
  appendZoneVersion,
  CLUSTER_VERSION_REQUEST,
  clusterVersionAt,
  passZoneVersion,
  serialAt,
  replaceZoneVersion,
  voidZoneVersion,
  ZONE_VERSION_REQUEST,
  zoneVersionAt,
} from './zone-version.js';

const INSTANCE = Uint8Array.from([1, 2, 3, 4, 5, 6, 7, 8]);
const VERSION = { labelCount: 2, instance: INSTANCE, serial: 0x1_0000_0002 };
const OPTION = [0, 19, 0, 18, 2, 246, ...INSTANCE, 0, 0, 0, 1, 0, 0, 0, 2];
const MAX_BYTES = 1232;

/** The bytes of an answer without records, with an OPT record, and its length. */
function answerBytes(options = NO_EDNS_OPTIONS): [Uint8Array, number] {
  const query = queryBytes('web.default', { additionals: [opt()] });
  const read = new Query();
  read.read(query, query.length, false, MAX_BYTES);
  const out = new Uint8Array(0x1_0000);
  out.set(query.subarray(0, read.questionEnd));
  out[11] = 0;
  return [out, appendOpt(read, out, read.questionEnd, 0, options)];
}

describe('the version of a zone', () => {
  it('is an option of 18 bytes: labels of the zone, a type for local use, instance and serial', () => {
    const [out, length] = answerBytes();
    const end = appendZoneVersion(out, length, MAX_BYTES, VERSION);
    const message = out.subarray(0, end);
    expect(Array.from(message.subarray(length))).toEqual(OPTION);
    expect(Array.from(message.subarray(length - 2, length))).toEqual([0, OPTION.length]);
    const at = zoneVersionAt(message);
    expect(message.subarray(at, at + 8)).toEqual(INSTANCE);
    expect(serialAt(message, at)).toBe(VERSION.serial);
  });

  it('is not in an answer that would be too large, or that has no OPT record', () => {
    const [out, length] = answerBytes();
    expect(appendZoneVersion(out, length, length + OPTION.length - 1, VERSION)).toBe(length);
    expect(appendZoneVersion(out.subarray(0, length), length, MAX_BYTES, VERSION)).toBe(length);
    expect(appendZoneVersion(out, length - 11, MAX_BYTES, VERSION)).toBe(length - 11);
  });

  it('is the last of several options', () => {
    const error = extendedErrorOption(29, 'made up');
    const [out, length] = answerBytes(error);
    const end = appendZoneVersion(out, length, MAX_BYTES, VERSION);
    const message = out.subarray(0, end);
    expect(Array.from(message.subarray(length))).toEqual(OPTION);
    const lengthAt = length - error.length - 2;
    expect(Array.from(message.subarray(lengthAt, lengthAt + 2))).toEqual([0, end - lengthAt - 2]);
    expect(serialAt(message, zoneVersionAt(message))).toBe(VERSION.serial);
    const [answer] = answerBytes(error);
    expect(passZoneVersion(message, answer, length, MAX_BYTES, INSTANCE)).toBe(end);
    expect(answer.subarray(0, end)).toEqual(message);
  });

  it('is none where another option has its bytes', () => {
    const error = extendedErrorOption(29);
    const [out, length] = answerBytes(
      Uint8Array.from([...error, 0, 99, 0, OPTION.length, ...OPTION]),
    );
    expect(zoneVersionAt(out.subarray(0, length))).toBe(-1);
  });

  it('is read where an answer ends with it, and nowhere else', () => {
    const [out, length] = answerBytes();
    expect(zoneVersionAt(out.subarray(0, length))).toBe(-1);
    const end = appendZoneVersion(out, length, MAX_BYTES, VERSION);
    for (let cut = 0; cut < end; cut++) expect(zoneVersionAt(out.subarray(0, cut))).toBe(-1);
    for (const at of [
      length - 11,
      length - 10,
      length - 2,
      length - 1,
      length,
      length + 3,
      length + 5,
    ]) {
      const other = Uint8Array.from(out.subarray(0, end));
      other[at]! ^= 1;
      expect(zoneVersionAt(other)).toBe(-1);
    }
  });

  it('has the version of the cluster behind it, if there is one: what is known and seen, not what changed', () => {
    const cluster = Uint8Array.from({ length: CLUSTER_VERSION_BYTES }, (_, at) => at + 1);
    const [out, length] = answerBytes();
    const end = appendZoneVersion(out, length, MAX_BYTES, { ...VERSION, cluster });
    const message = out.subarray(0, end);
    const known = cluster.subarray(0, ANSWER_VERSION_BYTES);
    const [, , , dataBytes, labels, , ...rest] = OPTION;
    expect(Array.from(message.subarray(length))).toEqual([
      ...[0, 19, 0, dataBytes! + known.length, labels, 247],
      ...rest,
      ...known,
    ]);
    const at = zoneVersionAt(message);
    expect(serialAt(message, at)).toBe(VERSION.serial);
    const clusterAt = clusterVersionAt(message, at);
    expect(message.subarray(clusterAt)).toEqual(known);
    for (let cut = 0; cut < end; cut++) expect(zoneVersionAt(out.subarray(0, cut))).toBe(-1);
    voidZoneVersion(message, at);
    expect(message.subarray(at).every((byte) => byte === 0)).toBe(true);
    const [plain, plainLength] = answerBytes();
    const plainEnd = appendZoneVersion(plain, plainLength, MAX_BYTES, VERSION);
    const plainAt = zoneVersionAt(plain.subarray(0, plainEnd));
    expect(clusterVersionAt(plain, plainAt)).toBe(-1);
  });

  it.each([
    ['knows versions of the cluster: all of it, of any process', true, 9, 78],
    ['knows none, and the version is of this process: that alone', false, 0, 22],
    ['knows none, and the version is of another process: nothing', false, 9, 0],
  ])('goes with the version of the cluster to a client that %s', (_, knows, other, bytes) => {
    const cluster = new Uint8Array(CLUSTER_VERSION_BYTES).fill(3);
    const [reply, length] = answerBytes();
    const whole = reply.subarray(
      0,
      appendZoneVersion(reply, length, MAX_BYTES, { ...VERSION, cluster }),
    );
    const [out] = answerBytes();
    const own = INSTANCE.map((byte) => byte + other);
    const end = passZoneVersion(whole, out, length, MAX_BYTES, own, knows);
    expect(end - length).toBe(bytes);
    if (knows) expect(out.subarray(0, end)).toEqual(whole);
    else if (bytes > 0) expect(Array.from(out.subarray(length, end))).toEqual(OPTION);
  });

  it("goes from a reply to a client's answer once it is of this process", () => {
    const [reply, length] = answerBytes();
    const whole = reply.subarray(0, appendZoneVersion(reply, length, MAX_BYTES, VERSION));
    const [out] = answerBytes();
    const own = INSTANCE.map((byte) => byte + 1);
    const pass = () => passZoneVersion(whole, out, length, MAX_BYTES, own);
    expect(pass()).toBe(length);
    replaceZoneVersion(whole, zoneVersionAt(whole), { instance: own, serial: 7 });
    const answer = out.subarray(0, pass());
    expect(Array.from(answer.subarray(length + 6))).toEqual([...own, 0, 0, 0, 0, 0, 0, 0, 7]);
    expect(passZoneVersion(whole.subarray(0, length), out, length, MAX_BYTES, own)).toBe(length);
  });
});

describe('a query', () => {
  const asks = (...options: number[]) => {
    const bytes = queryBytes('web.default');
    const query = bytesOf(...bytes, 0, 0, 41, 4, 0xd0, 0, 0, 0, 0, 0, options.length, ...options);
    query[11] = 1;
    const read = new Query();
    const verdict = read.read(query, query.length, false, MAX_BYTES);
    return [verdict, read.asksZoneVersion, read.knowsClusterVersion];
  };

  it.each([
    ['asks for the version with an empty option', true, ...ZONE_VERSION_REQUEST],
    ['asks with others behind it', true, ...ZONE_VERSION_REQUEST, 0, 11, 0, 1, 9],
    ['asks with data: no', false, 0, 19, 0, 1, 0],
    ['asks behind another option: no', false, 0, 11, 0, 0, ...ZONE_VERSION_REQUEST],
    ['ends within the option: no', false, 0, 19, 0],
    ['has no option', false],
  ])('%s', (_, isAsked, ...options) => {
    expect(asks(...options)).toEqual(['answer', isAsked, false]);
  });

  it.each([
    ['knows versions of the cluster', true, ...CLUSTER_VERSION_REQUEST],
    ['knows them, with another option behind', true, ...CLUSTER_VERSION_REQUEST, 0, 11, 0, 0],
    ['says so with data: no', false, ...CLUSTER_VERSION_REQUEST.slice(0, 7), 1, 0],
    ['says so further behind: no', false, ...ZONE_VERSION_REQUEST, 0, 11, 0, 0, 254, 223, 0, 0],
  ])('%s', (_, knows, ...options) => {
    expect(asks(...options)).toEqual(['answer', true, knows]);
  });
});
