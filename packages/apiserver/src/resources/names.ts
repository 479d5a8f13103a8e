const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const QUALIFIED = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const CONFIG_KEY = /^[-._a-zA-Z0-9]+$/;

/** RFC 1123 section 2.1 with RFC 1035 section 2.3.4: the longest label and name. */
const MAX_LABEL = 63;
const MAX_SUBDOMAIN = 253;
/** RFC 6335 section 5.1: the longest service name. */
const MAX_PORT_NAME = 15;

/**
 * Every function of this file returns why the text is not acceptable, or undefined when it is.
 */
export type NameRule = (text: string) => string | undefined;

/** RFC 1123 label: lower-case letters, digits and `-`, at most 63 bytes. */
export function refuseLabel(text: string): string | undefined {
  if (text.length <= MAX_LABEL && LABEL.test(text)) return undefined;
  return "must be an RFC 1123 label: at most 63 lower-case letters, digits or '-', with a letter or digit at both ends";
}

/** RFC 1123 subdomain: labels of any length joined by dots, at most 253 bytes together. */
export function refuseSubdomain(text: string): string | undefined {
  if (text.length <= MAX_SUBDOMAIN && text.split('.').every((label) => LABEL.test(label))) {
    return undefined;
  }
  return "must be an RFC 1123 subdomain: at most 253 lower-case letters, digits, '-' or '.', with a letter or digit at both ends of each part";
}

/** A DNS name as `FQDN` slices hold it: a subdomain, a final dot allowed. */
export function refuseFqdn(text: string): string | undefined {
  return refuseSubdomain(text.endsWith('.') ? text.slice(0, -1) : text);
}

/** RFC 6335 service name, used for target ports and container ports. */
export function refusePortName(text: string): string | undefined {
  const fits = text.length <= MAX_PORT_NAME && LABEL.test(text);
  if (fits && /[a-z]/.test(text) && !text.includes('--')) return undefined;
  return "must be a port name: at most 15 lower-case letters, digits or single '-', with at least one letter";
}

/** Key of a label or annotation: `[prefix/]name`. */
export function refuseQualifiedName(text: string): string | undefined {
  const slash = text.indexOf('/');
  const name = text.slice(slash + 1);
  if (slash >= 0) {
    const reason = refuseSubdomain(text.slice(0, slash));
    if (reason) return `prefix part ${reason}`;
  }
  if (name.length <= MAX_LABEL && QUALIFIED.test(name)) return undefined;
  return "name part must be at most 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends";
}

/** Value of a label: empty, or as the name part of a key. */
export function refuseLabelValue(text: string): string | undefined {
  if (text === '' || (text.length <= MAX_LABEL && QUALIFIED.test(text))) return undefined;
  return "must be at most 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends";
}

/** Key of a ConfigMap: a file name. */
export function refuseConfigKey(text: string): string | undefined {
  const fits = text.length <= MAX_SUBDOMAIN && CONFIG_KEY.test(text);
  if (fits && text !== '.' && !text.startsWith('..')) return undefined;
  return "must be at most 253 letters, digits, '-', '_' or '.', and not start with '..'";
}

/** Name of a role or binding: any path segment, for example `system:kube-dns`. */
export function refusePathSegment(text: string): string | undefined {
  if (text === '' || text === '.' || text === '..') return "may not be empty, '.' or '..'";
  return /[/%]/.test(text) ? "may not contain '/' or '%'" : undefined;
}
