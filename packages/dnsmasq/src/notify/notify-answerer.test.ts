import { createHmac } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import {
  checkTsig,
  decodeName,
  encodeKey,
  FLAG,
  OPCODE_NOTIFY,
  parseTsigKey,
  Query,
  RCODE,
  RCODE_MASK,
  readTsig,
  readUint16,
  SAFE_UDP_BYTES,
  signMessage,
  type Tsig,
  TSIG_ERROR,
  writeNotify,
  writeUint16,
} from '@kube-dns/wire';
import { parseNotifyRule } from '../options/values.js';
import { NotifyAnswerer } from './notify-answerer.js';

const RULES = [
  '/cluster.local/10.0.0.0/8,fd00::/8',
  '/in-addr.arpa/10.1.2.3',
  '/cluster.local/192.0.2.1/32',
].map(parseNotifyRule);
const NOW_SECONDS = 1_700_000_000;
const KEY = parseTsigKey('key "k" { algorithm hmac-sha256; secret "AAECAwQFBgcICQoLDA0ODw=="; };');
const OTHER = { ...KEY, secret: KEY.secret.map((byte) => ~byte) };

let dropped: string[];
let nowMs: number;
let answerer: NotifyAnswerer;
const out = Buffer.alloc(65_535);

function create(key?: typeof KEY): void {
  dropped = [];
  nowMs = 0;
  answerer = new NotifyAnswerer({
    rules: RULES,
    key,
    drop: (name, zone) => dropped.push(`${decodeName(name)} in ${decodeName(zone)}`),
    now: () => nowMs,
    wallNow: () => NOW_SECONDS * 1_000 + 999,
  });
}
beforeEach(() => create());

function notify(name: string): Buffer {
  const apex = encodeKey('cluster.local');
  const soaRdata = new Uint8Array(22);
  return Buffer.from(writeNotify({ id: 7, name: encodeKey(name), apex, soaRdata, ttlSeconds: 5 }));
}

function signed(message: Uint8Array, key = KEY, timeSeconds = NOW_SECONDS): Buffer {
  const buffer = Buffer.alloc(1_000);
  buffer.set(message);
  return buffer.subarray(0, signMessage(buffer, message.length, key, { timeSeconds }));
}

/** Signed by one that allows so many seconds of difference, which the writer of signatures does not. */
function signedWithFudge(message: Uint8Array, timeSeconds: number, fudgeSeconds: number): Buffer {
  const whole = signed(message, KEY, timeSeconds);
  const { start, mac } = tsigOf(whole);
  const algorithmAt = start + KEY.name.length + 10;
  const timeAt = algorithmAt + KEY.algorithm.length;
  writeUint16(whole, timeAt + 6, fudgeSeconds);
  const expected = createHmac(KEY.hash, KEY.secret)
    .update(message)
    .update(KEY.name)
    .update(Uint8Array.of(0, 255, 0, 0, 0, 0))
    .update(whole.subarray(algorithmAt, timeAt + 8))
    .update(Buffer.alloc(4));
  whole.set(expected.digest(), timeAt + 10);
  expect(mac).toHaveLength(32);
  return whole;
}

/** The answer to a message; empty when there is none. */
function answer(message: Uint8Array, address = '10.9.8.7'): Buffer {
  const query = new Query();
  expect(query.read(message, message.length, false, SAFE_UDP_BYTES)).toBe('notimp');
  expect(query.readBody()).toBe('answer');
  const answersFrom = () => undefined;
  const client = {
    address,
    port: 1,
    answersFrom,
    defer: () => Promise.reject(new Error('never')) as never,
  };
  return Buffer.from(out.subarray(0, answerer.answer(query, out, client)));
}

const rcodeOf = (reply: Buffer) => readUint16(reply, 2) & RCODE_MASK;

function tsigOf(message: Uint8Array): Tsig {
  const tsig = readTsig(message);
  if (typeof tsig === 'string') throw new Error(tsig);
  return tsig;
}

describe('a NOTIFY', () => {
  it.each([
    ['Web.Default.svc.cluster.local', '10.9.8.7', 'web.default.svc.cluster.local in cluster.local'],
    ['cluster.local', '192.0.2.1', 'cluster.local in cluster.local'],
    ['cluster.local', 'fd12::1', 'cluster.local in cluster.local'],
    ['4.3.2.10.in-addr.arpa', '10.1.2.3', '4.3.2.10.in-addr.arpa in in-addr.arpa'],
  ])('for %s from %s drops %s', (name, address, expected) => {
    const message = notify(name);
    const reply = answer(message, address);
    expect(dropped).toEqual([expected]);
    expect(readUint16(reply, 2)).toBe(FLAG.QR | FLAG.AA | OPCODE_NOTIFY);
    expect(readUint16(reply, 0)).toBe(7);
    // The question as it was asked, and nothing else.
    expect(reply.subarray(4)).toEqual(
      Buffer.concat([Buffer.from([0, 1, 0, 0, 0, 0, 0, 0]), message.subarray(12, reply.length)]),
    );
  });

  it.each([
    ['cluster.local', '11.0.0.1'],
    ['cluster.local', '192.0.2.2'],
    ['cluster.local', 'fe80::1%eth0'],
    ['xcluster.local', '10.0.0.1'],
    ['local', '10.0.0.1'],
    ['4.3.2.10.in-addr.arpa', '10.1.2.4'],
  ])('for %s from %s is refused', (name, address) => {
    expect(rcodeOf(answer(notify(name), address))).toBe(RCODE.REFUSED);
    expect(dropped).toEqual([]);
    expect(answerer.results).toMatchObject({ refused: 1, accepted: 0 });
  });

  it('of another class is refused, and one about another type than SOA not implemented', () => {
    const message = notify('cluster.local');
    const end = 12 + encodeKey('cluster.local').length;
    writeUint16(message, end + 2, 3);
    expect(rcodeOf(answer(message))).toBe(RCODE.REFUSED);
    writeUint16(message, end + 2, 1);
    writeUint16(message, end, 1);
    expect(rcodeOf(answer(message))).toBe(RCODE.NOTIMP);
    expect(dropped).toEqual([]);
  });

  it('drops 100 names a second at most; beyond, the whole zone, so that a flood starves no other', async () => {
    const flood = () => {
      for (let i = 0; i < 1_000; i++) answer(notify(`n${i}.cluster.local`));
      return dropped.length;
    };
    expect(flood()).toBe(100);
    expect(rcodeOf(answer(notify('honest.cluster.local')))).toBe(RCODE.NOERROR);
    expect(answerer.results).toMatchObject({ accepted: 100, limited: 901 });
    await until(() => dropped.length > 100);
    expect(dropped.slice(100)).toEqual(['cluster.local in cluster.local']);
    nowMs += 1_005;
    expect(flood()).toBe(201);
    answerer.close();
    // Those that may not drop are answered nonetheless.
    expect(rcodeOf(answer(notify('cluster.local'), '8.8.8.8'))).toBe(RCODE.REFUSED);
  });
});

describe('a NOTIFY with a key', () => {
  beforeEach(() => create(KEY));

  it('that is signed drops, and its answer is signed', () => {
    const message = signed(notify('cluster.local'));
    const reply = answer(message);
    expect(rcodeOf(reply)).toBe(RCODE.NOERROR);
    expect(dropped).toHaveLength(1);
    const { mac } = tsigOf(message);
    expect(checkTsig(reply, tsigOf(reply), KEY, NOW_SECONDS, mac)).toBe(RCODE.NOERROR);
  });

  it('that is signed, for a zone that is not allowed, is refused, and its answer is signed', () => {
    const message = signed(notify('other.test'));
    const reply = answer(message);
    expect(rcodeOf(reply)).toBe(RCODE.REFUSED);
    expect(dropped).toEqual([]);
    const { mac } = tsigOf(message);
    expect(checkTsig(reply, tsigOf(reply), KEY, NOW_SECONDS, mac)).toBe(RCODE.NOERROR);
  });

  it('that is unsigned is refused, and its answer is not signed', () => {
    const reply = answer(notify('cluster.local'));
    expect(rcodeOf(reply)).toBe(RCODE.REFUSED);
    expect(readTsig(reply)).toBe('none');
  });

  it.each([
    ['with a wrong secret', signed(notify('cluster.local'), OTHER), TSIG_ERROR.BADSIG],
    [
      'by another key',
      signed(notify('cluster.local'), { ...KEY, name: encodeKey('j') }),
      TSIG_ERROR.BADKEY,
    ],
    [
      'with another algorithm',
      signed(notify('cluster.local'), {
        ...KEY,
        algorithm: encodeKey('hmac-sha512'),
        hash: 'sha512',
      }),
      TSIG_ERROR.BADKEY,
    ],
  ])('that is signed %s gets NOTAUTH with the error, without a signature', (_, message, error) => {
    const reply = answer(message);
    expect(rcodeOf(reply)).toBe(RCODE.NOTAUTH);
    expect(tsigOf(reply)).toMatchObject({ error, mac: Buffer.alloc(0) });
    expect(answerer.results).toMatchObject({ bad_signature: 1, accepted: 0 });
  });

  it.each([-301, 301])(
    'that was signed %s s from now gets BADTIME, signed, with the time',
    (by) => {
      const message = signed(notify('cluster.local'), KEY, NOW_SECONDS + by);
      const reply = answer(message);
      expect(rcodeOf(reply)).toBe(RCODE.NOTAUTH);
      const tsig = tsigOf(reply);
      expect(tsig).toMatchObject({ error: TSIG_ERROR.BADTIME, timeSeconds: NOW_SECONDS + by });
      expect(tsig.other.length).toBe(6);
      const { mac } = tsigOf(message);
      expect(checkTsig(reply, tsig, KEY, NOW_SECONDS + by, mac)).toBe(RCODE.NOERROR);
      expect(dropped).toEqual([]);
    },
  );

  it('outsider 3: that was signed long ago gets BADTIME, whatever difference its signer allows', () => {
    const message = signedWithFudge(notify('cluster.local'), NOW_SECONDS - 5_000, 65_535);
    expect(tsigOf(message).fudgeSeconds).toBe(65_535);
    const reply = answer(message);
    expect(tsigOf(reply)).toMatchObject({ error: TSIG_ERROR.BADTIME });
    expect(dropped).toEqual([]);
  });

  it('outsider 3: with a wrong MAC is checked 25 times in 250 ms of one sender; those of others are', () => {
    const forged = signed(notify('cluster.local'), OTHER);
    const flood = (sender: string) => {
      let answers = 0;
      for (let i = 0; i < 1_000; i++) if (answer(forged, sender).length > 0) answers++;
      return answers;
    };
    expect(flood('10.9.8.7')).toBe(25);
    expect(answerer.results).toMatchObject({ bad_signature: 25, unchecked: 975 });
    // Not even a good one of the forged sender, until the window has passed.
    expect(answer(signed(notify('cluster.local')))).toHaveLength(0);
    expect(rcodeOf(answer(signed(notify('cluster.local')), '10.9.8.8'))).toBe(RCODE.NOERROR);
    nowMs += 250;
    expect(rcodeOf(answer(signed(notify('cluster.local'))))).toBe(RCODE.NOERROR);
    expect(dropped).toHaveLength(2);
  });

  it('outsider 3: with a wrong MAC is checked 1,000 times a second, 100 at once, of all senders', () => {
    const forged = signed(notify('cluster.local'), OTHER);
    let checked = 0;
    const flood = () => {
      for (let i = 0; i < 250; i++) if (answer(forged, `10.9.8.${i}`).length > 0) checked++;
    };
    flood();
    expect(checked).toBe(100);
    for (let i = 0; i < 20; i++) {
      nowMs += 50;
      flood();
    }
    expect(checked).toBe(1_100);
  });

  it('TSIG replay: whose MAC is cut is malformed, and a replay costs no more than another drop', () => {
    const message = signed(notify('cluster.local'));
    const macBytesAt = message.length - 6 - 32 - 2;
    const cut = Buffer.concat([
      message.subarray(0, macBytesAt),
      Buffer.from([0, 9]),
      message.subarray(macBytesAt + 2, macBytesAt + 11),
      message.subarray(-6),
    ]);
    const rdataLengthAt = tsigOf(message).start + KEY.name.length + 8;
    writeUint16(cut, rdataLengthAt, readUint16(message, rdataLengthAt) - 23);
    expect(rcodeOf(answer(cut))).toBe(RCODE.FORMERR);
    answer(message);
    answer(message);
    expect(dropped).toHaveLength(2);
  });

  it('that is not last, or twice, is malformed', () => {
    const message = signed(notify('cluster.local'));
    const { start } = tsigOf(message);
    const twice = Buffer.concat([message, message.subarray(start)]);
    writeUint16(twice, 10, 2);
    expect(rcodeOf(answer(twice))).toBe(RCODE.FORMERR);
    expect(dropped).toEqual([]);
  });

  it('from elsewhere is refused before its signature is looked at', () => {
    const reply = answer(signed(notify('cluster.local'), OTHER), '8.8.8.8');
    expect(rcodeOf(reply)).toBe(RCODE.REFUSED);
    expect(readTsig(reply)).toBe('none');
  });
});

it('a signed NOTIFY where there is no key gets BADKEY', () => {
  const reply = answer(signed(notify('cluster.local')));
  expect(rcodeOf(reply)).toBe(RCODE.NOTAUTH);
  expect(tsigOf(reply)).toMatchObject({ error: TSIG_ERROR.BADKEY });
  expect(dropped).toEqual([]);
});
