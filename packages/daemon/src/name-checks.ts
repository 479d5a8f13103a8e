import { isIP } from 'node:net';

const LABEL = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const MAX_NAME = 253;

/** Whether the text is an RFC 1123 label in lower case, as Kubernetes checks it. */
export function isDnsLabel(text: string): boolean {
  return LABEL.test(text);
}

/** Whether the text is an RFC 1123 subdomain in lower case, without a final dot. */
export function isDnsSubdomain(text: string): boolean {
  return text.length <= MAX_NAME && text.split('.').every(isDnsLabel);
}

/** Whether the text is an IPv4 or IPv6 address without a zone. */
export function isIpAddress(text: string): boolean {
  return isIP(text) !== 0 && !text.includes('%');
}
