import { describe, expect, it } from '@jest/globals';
import { errorOf } from '../test/error-of.js';
import { keyFile } from '../test/tsig-keys.js';
import { readUint16, writeUint16 } from './bytes.js';
import { encodeKey } from './name.js';
import { RCODE, TSIG_ERROR } from './protocol.js';
import {
  checkTsig,
  parseTsigKey,
  readTsig,
  refuseTsig,
  type Signing,
  signMessage,
  type Tsig,
  type TsigKey,
} from './tsig.js';

const SIGNED_AT = 1_700_000_000;
/** A NOTIFY and its response, signed by dnspython 2.9.2 at that time with the key of `keyFile`. */
const HEAD = '1234200000010000000000';
const RESPONSE_HEAD = '1234a40000010000000000';
const QUESTION = '037765620764656661756c740373766307636c7573746572056c6f63616c0000060001';
const OWNER = '064e6f74696679074578616d706c6500';
const TIMES = '00006553f100012c';
const VECTORS = [
  {
    algorithm: 'hmac-sha256',
    head: '00fa00ff00000000003d0b686d61632d73686132353600',
    macBytes: '0020',
    request: 'bd8ea321d36fb60efa5db3f9a79143f3aadda1ff713478183d48bb709d200976',
    response: 'f75cb9bb90793006685735df76630fa08779f866d21c5b614dee9c95d9b71c3e',
  },
  {
    algorithm: 'hmac-sha512',
    head: '00fa00ff00000000005d0b686d61632d73686135313200',
    macBytes: '0040',
    request:
      'a5576cae46db71795522c9028183daa72f9f9f1cfb1c64a5f6e67c4e33245329' +
      '86e463ee2f8966a953580f369d9cff6ddf7cf31ec921a34f5d1bfb20eebb3586',
    response:
      'f037e6c0909e20d12232f4a4b28bc99f629838b266cd72054637cfd9cdd50b6b' +
      'ac2d1ef1ed5a110f1a8d3f463d2b2874eee58cd9124df26843c937ab9720c709',
  },
].map(({ algorithm, head, macBytes, request, response }) => {
  const record = (mac: string) => `${OWNER}${head}${TIMES}${macBytes}${mac}123400000000`;
  const message = (start: string, tail: string) => Buffer.from(start + QUESTION + tail, 'hex');
  return {
    algorithm,
    unsigned: { request: message(`${HEAD}00`, ''), response: message(`${RESPONSE_HEAD}00`, '') },
    request: message(`${HEAD}01`, record(request)),
    response: message(`${RESPONSE_HEAD}01`, record(response)),
  };
});
const [{ request, unsigned }] = VECTORS as [(typeof VECTORS)[0]];
const key = parseTsigKey(keyFile());

function tsigOf(message: Uint8Array): Tsig {
  const tsig = readTsig(message);
  if (typeof tsig === 'string') throw new Error(tsig);
  return tsig;
}

function signed(message: Uint8Array, own: TsigKey, signing: Signing): Buffer {
  const out = Buffer.alloc(1_000);
  out.set(message);
  return out.subarray(0, signMessage(out, message.length, own, signing));
}

/** With one bit changed. */
function flipped(message: Uint8Array, at: number): Buffer {
  const changed = Buffer.from(message);
  changed[at]! ^= 1;
  return changed;
}

const check = (message: Uint8Array, now = SIGNED_AT, requestMac?: Uint8Array) =>
  checkTsig(message, tsigOf(message), key, now, requestMac);

describe('TSIG', () => {
  it.each(VECTORS)('with $algorithm is checked and made as another program does', (vector) => {
    const own = parseTsigKey(keyFile(vector.algorithm));
    const tsig = tsigOf(vector.request);
    expect(checkTsig(vector.request, tsig, own, SIGNED_AT)).toBe(RCODE.NOERROR);
    const { mac: requestMac } = tsig;
    const answer = tsigOf(vector.response);
    expect(checkTsig(vector.response, answer, own, SIGNED_AT, requestMac)).toBe(RCODE.NOERROR);
    const signing = { timeSeconds: SIGNED_AT };
    expect(tsigOf(signed(vector.unsigned.request, own, signing)).mac).toEqual(requestMac);
    const made = signed(vector.unsigned.response, own, { ...signing, requestMac });
    expect(tsigOf(made).mac).toEqual(answer.mac);
    // The key's name is written in lower case, and is the same name.
    expect(made.toString('hex').replace('6e6f74696679076578', '4e6f74696679074578')).toBe(
      vector.response.toString('hex'),
    );
  });

  it('fails with each changed bit of what is signed, and of the MAC', () => {
    const { start } = tsigOf(request);
    const macAt = request.length - 6 - 32;
    const places = [2, 13, start - 1, macAt, macAt + 31].map((at) => flipped(request, at));
    for (const changed of places) expect(check(changed)).toBe(TSIG_ERROR.BADSIG);
  });

  it('holds after the ID was changed on the way', () => {
    const changed = Buffer.from(request);
    writeUint16(changed, 0, 0x4321);
    expect(check(changed)).toBe(RCODE.NOERROR);
  });

  it('holds for 300 s before and after it was made', () => {
    for (const seconds of [-300, 300]) expect(check(request, SIGNED_AT + seconds)).toBe(0);
    for (const seconds of [-301, 301]) {
      expect(check(request, SIGNED_AT + seconds)).toBe(TSIG_ERROR.BADTIME);
    }
  });

  it('of another key or algorithm is not known', () => {
    for (const other of [keyFile('hmac-sha512'), keyFile('hmac-sha256', 'other.example')]) {
      const own = parseTsigKey(other);
      expect(checkTsig(request, tsigOf(request), own, SIGNED_AT)).toBe(TSIG_ERROR.BADKEY);
    }
  });

  it('is too short below half of the hash, longer than the hash, or cut where it need not be', () => {
    const tsig = tsigOf(request);
    const withMac = (mac: Uint8Array) => checkTsig(request, { ...tsig, mac }, key, SIGNED_AT);
    expect(withMac(tsig.mac.subarray(0, 15))).toBe(RCODE.FORMERR);
    expect(withMac(new Uint8Array(33))).toBe(RCODE.FORMERR);
    expect(withMac(new Uint8Array(0))).toBe(RCODE.FORMERR);
    expect(withMac(tsig.mac.subarray(0, 16))).toBe(TSIG_ERROR.BADTRUNC);
    expect(withMac(new Uint8Array(16))).toBe(TSIG_ERROR.BADSIG);
  });

  it('of a response is made over the MAC of the request', () => {
    const { mac: requestMac } = tsigOf(request);
    const response = signed(unsigned.response, key, { timeSeconds: SIGNED_AT, requestMac });
    expect(check(response, SIGNED_AT, requestMac)).toBe(RCODE.NOERROR);
    expect(check(response, SIGNED_AT)).toBe(TSIG_ERROR.BADSIG);
    expect(
      check(
        response,
        SIGNED_AT,
        requestMac.map((byte) => ~byte),
      ),
    ).toBe(TSIG_ERROR.BADSIG);
  });

  it('of a refusal has the error, and no MAC unless the key is right', () => {
    const tsig = tsigOf(request);
    const out = Buffer.alloc(1_000);
    out.set(unsigned.response);
    const length = refuseTsig(out, unsigned.response.length, tsig, TSIG_ERROR.BADSIG);
    const refused = tsigOf(out.subarray(0, length));
    expect(refused).toMatchObject({ error: TSIG_ERROR.BADSIG, mac: Buffer.alloc(0) });
    const late = signed(unsigned.response, key, {
      timeSeconds: tsig.timeSeconds,
      requestMac: tsig.mac,
      error: TSIG_ERROR.BADTIME,
      serverTimeSeconds: SIGNED_AT + 1_000,
    });
    expect(check(late, SIGNED_AT, tsig.mac)).toBe(RCODE.NOERROR);
    expect(tsigOf(late)).toMatchObject({ error: TSIG_ERROR.BADTIME });
    expect(readUint16(tsigOf(late).other, 4)).toBe((SIGNED_AT + 1_000) & 0xffff);
  });
});

describe('a message', () => {
  it('without TSIG has none', () => {
    expect(readTsig(unsigned.request)).toBe('none');
  });

  const twice = Buffer.concat([request, request.subarray(tsigOf(request).start)]);
  writeUint16(twice, 10, 2);
  const inAnswer = Buffer.from(request);
  writeUint16(inAnswer, 6, 1);
  writeUint16(inAnswer, 10, 0);
  const { start } = tsigOf(request);
  const A_RECORD = Buffer.from('0000010001000000000004c0000201', 'hex');
  const notLast = Buffer.concat([request, A_RECORD]);
  writeUint16(notLast, 10, 2);
  const loop = Buffer.from(request);
  writeUint16(loop, start, 0xc000 | start);
  const withTtl = flipped(request, start + 16 + 7);
  const withClass = flipped(request, start + 16 + 3);
  const longMac = flipped(request, request.length - 6 - 32 - 2);
  const longOther = flipped(request, request.length - 1);
  const shortName = flipped(request, start + 26);
  it.each([
    ['two TSIG', twice],
    ['one in the answer section', inAnswer],
    ['a record after it', notLast],
    ['its name a pointer to itself', loop],
    ['a TTL', withTtl],
    ['class NONE', withClass],
    ['a MAC longer than its data', longMac],
    ['other data longer than its data', longOther],
    ['an algorithm that is no name', shortName],
  ])('with %s is malformed', (_, message) => {
    expect(readTsig(message)).toBe('malformed');
  });

  it('that is cut anywhere in its TSIG is malformed', () => {
    for (let length = start; length < request.length; length++) {
      expect(readTsig(request.subarray(0, length))).toBe('malformed');
    }
  });
});

const SECRET = Buffer.from('12345678901234567890123456789012');

describe('a key file', () => {
  it('is read as tsig-keygen writes it', () => {
    expect(parseTsigKey(keyFile('hmac-sha512'))).toEqual({
      name: encodeKey('notify.example'),
      algorithm: encodeKey('hmac-sha512'),
      hash: 'sha512',
      secret: SECRET,
    });
  });

  it('may have comments, another order, no quotes, and slashes in its secret', () => {
    const text = `# a key
      key Notify.Example. { // of ours
        secret AA//AA==; /* base64;
        "of" two lines */ algorithm "HMAC-SHA256.";
      };`;
    const { name, secret, hash } = parseTsigKey(text);
    expect(name).toEqual(encodeKey('notify.example'));
    expect(hash).toBe('sha256');
    expect(secret).toEqual(Buffer.from([0, 15, 255, 0]));
  });

  it.each([
    ['', 'it ends where the statement key should be'],
    ['zone "a" {};', 'the statement key is missing'],
    ['key', 'it ends where the name of the key should be'],
    ['key "a..b" {', 'name "a..b": empty label'],
    ['key "a" algorithm', '{ after the name is missing'],
    ['key "a" { algorithm hmac-md5; secret "AAAA"; };', 'none of hmac-sha256, hmac-sha384'],
    ['key "a" { secret "AAAA"; };', 'the algorithm is none of'],
    ['key "a" { algorithm hmac-sha256; };', 'the secret is missing or not base64'],
    ['key "a" { algorithm hmac-sha256; secret "AAA"; };', 'the secret is missing or not base64'],
    ['key "a" { algorithm hmac-sha256; secret ""; };', 'the secret is missing or not base64'],
    ['key "a" { algorithm hmac-sha256; algorithm x; };', 'it has algorithm twice'],
    ['key "a" { colour red; };', 'another field than algorithm and secret'],
    ['key "a" { algorithm hmac-sha256 secret', '; after algorithm is missing'],
    ['key "a" { algorithm hmac-sha256; secret "AAAA"; }', 'it ends where ; at the end should be'],
    [keyFile().repeat(2), 'there is something after the key'],
  ])('is refused with its reason: %j', (text, reason) => {
    expect(errorOf(() => parseTsigKey(text))).toMatchObject({
      code: 'bad-key',
      message: expect.stringContaining(reason),
    });
  });

  it('is refused without its secret in the message', () => {
    const error = errorOf(() => parseTsigKey('key "a" { secret "hush=hush"; algorithm x; };'));
    expect(String(error)).not.toContain('hush');
  });
});
