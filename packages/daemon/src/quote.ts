import { hideUrlSecrets } from './hidden-secrets.js';

/** So many characters of what comes from outside are repeated in a message. */
export const MAX_QUOTED = 100;
/** Secrets are looked for before a text is cut. */
const MAX_READ = 8_192;

/** A value that comes from outside, in quotes and without the secrets of URLs; a message repeats only as much as helps to find it. */
export function quote(text: string): string {
  const shown = hideUrlSecrets(text.slice(0, MAX_READ));
  return JSON.stringify(shown.length > MAX_QUOTED ? `${shown.slice(0, MAX_QUOTED)}…` : shown);
}
