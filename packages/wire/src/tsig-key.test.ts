import { describe, expect, it } from '@jest/globals';
import { errorOf } from '../test/error-of.js';
import { keyFile } from '../test/tsig-keys.js';
import { encodeKey } from './name.js';
import { parseTsigKey } from './tsig-key.js';

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
