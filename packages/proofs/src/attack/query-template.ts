import { encodeName, encodeQuery, HEADER_BYTES, TYPE, writeUint16 } from '@kube-dns/wire';

/** A query to be sent many times, each time with another ID. */
export interface QueryTemplate {
  readonly message: Uint8Array;
  /** Offset of a label of `RANDOM_LABEL_BYTES` that is random each time. */
  readonly labelAt?: number;
}

export const RANDOM_LABEL_BYTES = 16;

const PLACEHOLDER = 'x'.repeat(RANDOM_LABEL_BYTES);
const FIRST_LABEL_AT = HEADER_BYTES + 1;
const ADDITIONAL_COUNT_OFFSET = 10;
const OPT_FIXED_BYTES = 11;
const OPTION_FIXED_BYTES = 4;
/** RFC 7830. */
const PADDING_OPTION = 12;
const MAX_UINT16 = 0xffff;
/** QTYPE of RFC 1035 section 3.2.3. */
const ANY = 255;

/** A for a name below a domain that no client has asked for before. */
export function randomNameQuery(domain: string): QueryTemplate {
  const message = encodeQuery({ id: 0, name: `${PLACEHOLDER}.${domain}`, type: 'A' });
  return { message, labelAt: FIRST_LABEL_AT };
}

export function addressQuery(name: string): QueryTemplate {
  return { message: encodeQuery({ id: 0, name, type: 'A' }) };
}

/** ANY, for as large an answer as there is. */
export function anyQuery(name: string): QueryTemplate {
  const message = encodeQuery({ id: 0, name, type: 'A' });
  const nameEnd = HEADER_BYTES + encodeName(name).length;
  writeUint16(message, nameEnd, ANY);
  return { message: withPadding(message, 0) };
}

/** The query with an OPT record that takes answers of any size, and padding up to this many bytes. */
export function paddedQuery({ message, ...rest }: QueryTemplate, bytes: number): QueryTemplate {
  const options = bytes - message.length - OPT_FIXED_BYTES;
  return { ...rest, message: withPadding(message, Math.max(0, options)) };
}

function withPadding(message: Uint8Array, optionBytes: number): Buffer {
  const opt = Buffer.alloc(OPT_FIXED_BYTES + optionBytes);
  writeUint16(opt, 1, TYPE.OPT);
  writeUint16(opt, 3, MAX_UINT16);
  writeUint16(opt, 9, optionBytes);
  if (optionBytes >= OPTION_FIXED_BYTES) {
    writeUint16(opt, OPT_FIXED_BYTES, PADDING_OPTION);
    writeUint16(opt, OPT_FIXED_BYTES + 2, optionBytes - OPTION_FIXED_BYTES);
  }
  const whole = Buffer.concat([message, opt]);
  writeUint16(whole, ADDITIONAL_COUNT_OFFSET, 1);
  return whole;
}
