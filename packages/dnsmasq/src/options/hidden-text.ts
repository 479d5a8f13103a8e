/** Characters that divide values, but not in quotes (dnsmasq src/option.c, hide_meta). */
const DIVIDERS = /[,:./#@%=\s]/g;
/** Their replacements: a private area of Unicode, which no option's text uses. */
const HIDDEN_BASE = 0xe000;
const HIDDEN = /[\ue000-\ue0ff]/g;

/** Replaces the dividers in quoted text of a file; {@link showHidden} restores them. */
export function hideDividers(text: string): string {
  return text.replace(DIVIDERS, (divider) =>
    divider.charCodeAt(0) > 0xff
      ? divider
      : String.fromCharCode(HIDDEN_BASE + divider.charCodeAt(0)),
  );
}

/** The text before {@link hideDividers}. */
export function showHidden(text: string): string {
  return text.replace(HIDDEN, (hidden) => String.fromCharCode(hidden.charCodeAt(0) - HIDDEN_BASE));
}
