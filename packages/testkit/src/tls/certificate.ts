import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';

const DAY_MS = 86_400_000;
/** Tags of the distinguished encoding rules (X.690). */
const TAG = {
  BOOLEAN: 0x01,
  INTEGER: 0x02,
  BIT_STRING: 0x03,
  OCTET_STRING: 0x04,
  OBJECT: 0x06,
  UTF8: 0x0c,
  TIME: 0x18,
  SEQUENCE: 0x30,
  SET: 0x31,
  VERSION: 0xa0,
  EXTENSIONS: 0xa3,
  /** In a subject's alternative names. */
  DNS_NAME: 0x82,
  ADDRESS: 0x87,
} as const;

/** ecdsa-with-SHA256; commonName; subjectAltName; basicConstraints (RFC 5480, RFC 5280). */
const OBJECT = {
  SIGNATURE: [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02],
  COMMON_NAME: [0x55, 0x04, 0x03],
  NAMES: [0x55, 0x1d, 0x11],
  CONSTRAINTS: [0x55, 0x1d, 0x13],
} as const;

/** A key and its certificate, as PEM text. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

export interface CertificateFields {
  /** DNS names and IP addresses. */
  readonly names: readonly string[];
  /** In days from now; may be negative. */
  readonly fromDays?: number;
  readonly toDays?: number;
  /** Of the server; an elliptic curve by default. */
  readonly keyType?: 'ec' | 'rsa';
}

/** An authority for tests, which signs what certificates they need; made without any program. */
export class TestAuthority {
  /** Its own certificate, as PEM text: for those who trust it. */
  readonly cert: string;
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  readonly #name: string;
  /** The certificates from its own to that below the root, which a server sends. */
  readonly #chain: string;

  /** Its certificate is signed by the authority above it, or by itself. */
  constructor(name = 'authority of a test', above?: TestAuthority) {
    this.#name = name;
    const isAuthority = sequence(boolean());
    const extension = sequence(object(OBJECT.CONSTRAINTS), boolean(), octets(isAuthority));
    this.cert = (above ?? this).#sign(name, this.#keys.publicKey, [-1, 3_650], extension);
    this.#chain = above === undefined ? '' : this.cert + above.#chain;
  }

  /** A certificate for a server, with those of the authorities below the root. */
  issue({ names, fromDays = -1, toDays = 30, keyType }: CertificateFields): Certificate {
    const { publicKey, privateKey } =
      keyType === 'rsa'
        ? generateKeyPairSync('rsa', { modulusLength: 2_048 })
        : generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const all = names.map((name) =>
      isIP(name) === 0
        ? encode(TAG.DNS_NAME, Buffer.from(name))
        : encode(TAG.ADDRESS, addressBytes(name)),
    );
    const extension = sequence(object(OBJECT.NAMES), octets(sequence(...all)));
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const cert = this.#sign(names[0] ?? '', publicKey, [fromDays, toDays], extension);
    return { key, cert: cert + this.#chain };
  }

  #sign(
    subject: string,
    key: KeyObject,
    [fromDays, toDays]: readonly [number, number],
    extension: Buffer,
  ): string {
    const algorithm = sequence(object(OBJECT.SIGNATURE));
    const body = sequence(
      encode(TAG.VERSION, encode(TAG.INTEGER, Buffer.from([2]))),
      encode(TAG.INTEGER, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
      algorithm,
      nameOf(this.#name),
      sequence(time(fromDays), time(toDays)),
      nameOf(subject),
      key.export({ type: 'spki', format: 'der' }),
      encode(TAG.EXTENSIONS, sequence(extension)),
    );
    const signature = sign('sha256', body, this.#keys.privateKey);
    const whole = sequence(body, algorithm, bits(signature)).toString('base64');
    const lines = whole.match(/.{1,64}/g) ?? [];
    return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
  }
}

function encode(tag: number, content: Uint8Array): Buffer {
  const { length } = content;
  // As short as it can be: Go refuses any other.
  const size = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  const head = [tag, ...(length < 0x80 ? [length] : size)];
  return Buffer.concat([Buffer.from(head), content]);
}

function sequence(...parts: readonly Uint8Array[]): Buffer {
  return encode(TAG.SEQUENCE, Buffer.concat(parts));
}

function object(bytes: readonly number[]): Buffer {
  return encode(TAG.OBJECT, Buffer.from(bytes));
}

function boolean(): Buffer {
  return encode(TAG.BOOLEAN, Buffer.from([0xff]));
}

function octets(content: Uint8Array): Buffer {
  return encode(TAG.OCTET_STRING, content);
}

function bits(content: Uint8Array): Buffer {
  return encode(TAG.BIT_STRING, Buffer.concat([Buffer.from([0]), content]));
}

function nameOf(text: string): Buffer {
  const common = sequence(object(OBJECT.COMMON_NAME), encode(TAG.UTF8, Buffer.from(text)));
  return sequence(encode(TAG.SET, common));
}

function time(days: number): Buffer {
  const text = new Date(Date.now() + days * DAY_MS).toISOString().replace(/[-T:]|\.\d+/g, '');
  return encode(TAG.TIME, Buffer.from(text));
}

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail] = address.split('::');
  const groups = (text = '') => text.split(':').filter((group) => group !== '');
  const first = groups(head);
  const last = groups(tail);
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => '0');
  return Buffer.from(
    [...first, ...zeros, ...last].map((group) => group.padStart(4, '0')).join(''),
    'hex',
  );
}
