import { encodeKey, ROOT_NAME, WireError } from '@kube-dns/wire';
import { OptionError } from '../errors.js';

/** `*end.parent`: names with a label before `parent` that ends so. All lower-cased. */
export interface WildcardDomain {
  /** May be empty: every name below `parent` then. */
  readonly labelEnd: Uint8Array;
  /** In wire form. */
  readonly parent: Uint8Array;
}

/** Domains without wildcards. */
export interface PlainDomains {
  /** Lower-cased names in wire form, each with all below it; the root is every name. */
  readonly domains: readonly Uint8Array[];
  /** Names of one label, too. */
  readonly isUnqualified?: boolean;
}

/** The names that a rule applies to. */
export interface RuleDomains extends PlainDomains {
  readonly wildcards?: readonly WildcardDomain[];
}

/** Where the scheme of a server begins: at the slash before it, or with the text. */
const SCHEME = /(?:^|\/)[a-z][a-z0-9+.-]*:\/\//i;

/**
 * Reads `/domain/…/` or one bare domain, in which `*` is an ordinary character; an empty one is the names
 * of one label. Throws an OptionError.
 */
export function parsePlainDomains(value: string): PlainDomains {
  const texts = value.replace(/^\/|\/$/g, '').split('/');
  return {
    domains: texts.filter((text) => text !== '').map(parseDomain),
    ...(texts.includes('') ? { isUnqualified: true } : {}),
  };
}

/** Splits `/domain/…/rest`; without domains it is every name. Throws an OptionError. */
export function splitDomains(value: string): { domains: RuleDomains; rest: string } {
  // The slashes of `https://…/…` divide no domains. Without a second slash there is no domain: `/` alone is every
  // name, as the empty value.
  const scheme = SCHEME.exec(value);
  const end = scheme === null ? value.lastIndexOf('/') : scheme.index;
  if (end < 1) {
    const rest = value === '/' ? '' : value;
    return { domains: { domains: [ROOT_NAME] }, rest };
  }
  const texts = value.startsWith('/') ? value.slice(1, end).split('/') : undefined;
  if (texts === undefined) return { domains: { domains: [ROOT_NAME] }, rest: value };
  const wildcards = texts.filter(isWildcard).map(parseWildcard);
  return {
    domains: {
      domains: texts.filter((text) => text !== '' && !isWildcard(text)).map(parseDomain),
      ...(wildcards.length > 0 ? { wildcards } : {}),
      ...(texts.includes('') ? { isUnqualified: true } : {}),
    },
    rest: value.slice(end + 1),
  };
}

function isWildcard(text: string): boolean {
  return text.startsWith('*');
}

/** Leading and trailing dots are ignored; `#` is every name. */
function parseDomain(text: string): Uint8Array {
  const name = text.replace(/^\.+/, '');
  if (text === '#' || name === '') return ROOT_NAME;
  try {
    return encodeKey(name);
  } catch (error) {
    if (error instanceof WireError) throw new OptionError(`bad domain: ${error.message}`);
    throw error;
  }
}

function parseWildcard(text: string): WildcardDomain {
  const [labelEnd = '', ...parents] = text.slice(1).split('.');
  return {
    labelEnd: labelEnd === '' ? new Uint8Array(0) : parseDomain(labelEnd).slice(1, -1),
    parent: parseDomain(parents.join('.')),
  };
}
