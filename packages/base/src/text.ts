import { isIP } from 'node:net';
import { parseHostPort } from './host-port.js';

/** What is read of a longer text: secrets are looked for before it is cut. */
const MAX_READ = 8_192;
/** So many characters of what comes from outside are repeated in a message. */
export const MAX_QUOTED = 100;

/** A value that comes from outside, in quotes and without the secrets of URLs; a message repeats only as much as helps to find it. */
export function quote(text: string): string {
  const shown = shownUrl(text.slice(0, MAX_READ));
  return JSON.stringify(shown.length > MAX_QUOTED ? `${shown.slice(0, MAX_QUOTED)}…` : shown);
}

/** What a page shows of one text, in characters. */
export const MAX_SHOWN = 500;

/**
 * A text as a page shows it, wherever it is from: one line, without control and direction characters and what looks
 * like a secret, cut after `MAX_SHOWN` characters.
 */
export function shownText(text: string): string {
  let shown = hideSecrets(text.slice(0, MAX_READ));
  if (shown.length > MAX_SHOWN || text.length > MAX_READ) {
    // Not between the halves of a character beyond U+FFFF.
    shown = `${shown.slice(0, MAX_SHOWN).replace(/[\ud800-\udbff]$/, '')}…`;
  }
  return shown.replace(
    // oxlint-disable-next-line no-control-regex -- these are the characters to escape
    /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

const HIDDEN = '***';

/**
 * A text that is one URL or server as it is written, without its secrets also where it is malformed: all that follows its `?`, and all
 * that may be user and password before its last `@`.
 */
export function shownUrl(text: string): string {
  // The path of a page or of a file, and not of a server.
  if (text.startsWith('/') && !text.includes('://')) return hideUrlSecrets(text);
  const shown = text.replace(/\?[^]+$/, `?${HIDDEN}`);
  return hideUrlSecrets(shown.replace(/^([^]*?:\/\/)[^]*@/, `$1${HIDDEN}@`));
}

/** A text without one of these has no secret that `hideUrlSecrets` looks for. */
const MAY_HAVE_SECRET = /[@?=]|eyJ/;
/** The user and the password of a URL. */
const CREDENTIALS = /\b([a-z][a-z0-9+.-]{0,20}:\/\/)([^\s/?#"'<>]*)@/gi;
/** What may be the same without a scheme, and the option before it; from the start of a word, so that no text takes long. */
const BARE_CREDENTIALS = /(?<![^\s/"'<>,;@])(--?[\w-]{1,40}=)?([^\s/"'<>,;@]+)@(?=[\w[.])/g;
/** What comes after the `?` of a URL, but not the comma, dot or bracket after it. */
const URL_QUERY =
  /(?<![\w/])([a-z][a-z0-9+.-]{0,20}:\/\/[^\s?"'<>]{0,1000}\?)(?:\\.|[^\s"<>\\])*(?:\\.|[^\s"'<>,;:.)\]}\\])/gi;
const ASSIGNMENT =
  /((?:token|passw(?:or)?d|secret|api[-_]?key|authorization|access[-_]?key)=)[^\s"',;&}]+/gi;
/** A JSON Web Token, such as that of a service account. */
const WEB_TOKEN = /\beyJ[\w-]{8,}(?:\.[\w-]*){0,2}/g;

/** Shapes of other secrets, and what remains of them. The programs log none of their own: others' errors may quote one. */
const SECRETS: readonly (readonly [pattern: RegExp, shown: string])[] = [
  [/-----BEGIN [\w ]*-----[^]*?(?:-----END [\w ]*-----|$)/g, HIDDEN],
  [/\b(bearer|basic|negotiate)\s+[\w.~+/=-]{4,}/gi, `$1 ${HIDDEN}`],
  [
    /((?:token|passw(?:or)?d|secret|api[-_]?key|authorization|access[-_]?key)["']?(?:\s*[:=]\s*|\s+(?=["']))["']?)[^\s"',;&}]+/gi,
    `$1${HIDDEN}`,
  ],
  // A cookie secret, and a hash of anything.
  [/\b[0-9a-f]{32,}\b/gi, HIDDEN],
];
/** Base64, such as the secret of a TSIG key: mixed characters without an end. */
const LONG_WORD = /[A-Za-z0-9+/_-]{40,}={0,2}/g;

/** A text without what looks like a secret, for pages: also words that may be a hash or a key. */
function hideSecrets(text: string): string {
  let shown = hideUrlSecrets(text);
  for (const [pattern, replacement] of SECRETS) shown = shown.replace(pattern, replacement);
  return shown.replace(LONG_WORD, hideOpaque);
}

/**
 * A text without the secrets of URLs: user and password, with a scheme or without, what comes after `?`, and
 * `token=…`. For what is logged and quoted, where a hash stays.
 */
export function hideUrlSecrets(text: string): string {
  if (!MAY_HAVE_SECRET.test(text)) return text;
  return hideCredentials(hideInQuotes(text))
    .replace(URL_QUERY, `$1${HIDDEN}`)
    .replace(ASSIGNMENT, `$1${HIDDEN}`)
    .replace(WEB_TOKEN, HIDDEN);
}

/** A URL in quotes ends with them, whatever is in it: blanks, `#` and what else makes it malformed. */
const QUOTED_URL = /"(\s*[a-z][a-z0-9+.-]{0,20}:\/(?:\\.|[^"\\])*)"/gi;

function hideInQuotes(text: string): string {
  return text.replace(QUOTED_URL, (_, url: string) => `"${url.replace(/\?[^]+$/, `?${HIDDEN}`)}"`);
}

/** Also where the same text quotes them once more, as the reason of an error. */
function hideCredentials(text: string): string {
  const passwords = new Set<string>();
  const shown = text
    .replace(CREDENTIALS, (_, scheme: string, credentials: string) => {
      passwords.add(credentials.slice(credentials.indexOf(':') + 1));
      return `${scheme}${HIDDEN}@`;
    })
    .replace(BARE_CREDENTIALS, (all: string, option = '', credentials: string) => {
      const colon = credentials.indexOf(':');
      if (colon < 0 || isServer(credentials)) return all;
      passwords.add(credentials.slice(colon + 1));
      return `${option}${HIDDEN}@`;
    });
  return [...passwords]
    .filter((password) => password.length > 2)
    .reduce((hidden, password) => hidden.replaceAll(password, HIDDEN), shown);
}

/** Whether it is what `--server` has in front of the `@` of a source. */
function isServer(text: string): boolean {
  try {
    return isIP(parseHostPort(text.replace(/#\d*$/, '')).host) !== 0;
  } catch {
    return false;
  }
}

/** A path or a long name stays. */
function hideOpaque(word: string): string {
  const isPath = word.startsWith('/');
  const isOpaque = (isPath ? word.split('/') : [word]).some(
    (part) => part.length >= 40 && /[A-Z]/.test(part) && /[a-z]/.test(part) && /[0-9]/.test(part),
  );
  return isOpaque ? HIDDEN : word;
}

/** Whether a domain equals another or is below it; everything is below `.`. */
export function isWithin(domain: string, other: string): boolean {
  return other === '.' || domain === other || domain.endsWith(`.${other}`);
}
