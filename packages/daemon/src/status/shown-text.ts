import { hideSecrets } from '../hidden-secrets.js';

/** What a page shows of one text, in characters. */
export const MAX_SHOWN = 500;
/** What is read of a longer text: secrets are looked for before it is cut. */
const MAX_READ = 8_192;

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
    // eslint-disable-next-line no-control-regex -- these are the characters to escape
    /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
