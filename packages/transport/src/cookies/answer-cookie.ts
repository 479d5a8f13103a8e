import { COOKIE_OPTION_BYTES, MAX_MESSAGE_BYTES } from '@kube-dns/wire';

/** The COOKIE option that an answer gets; undefined for a client without cookies. */
export type AnswerCookie = Uint8Array | undefined;

/** An answer while its cookie is added. */
const out = new Uint8Array(MAX_MESSAGE_BYTES);

/** The message, or for a buffer that has no room for the cookie behind it a copy, which the next one overwrites. */
export function withRoom(message: Uint8Array, length: number, cookie: AnswerCookie): Uint8Array {
  if (cookie === undefined || message.length >= length + COOKIE_OPTION_BYTES) return message;
  out.set(message.subarray(0, length));
  return out;
}
