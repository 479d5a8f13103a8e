/** Characters that divide values and do not when they stand in quotes (dnsmasq src/option.c, hide_meta). */
const DIVIDERS = /[,:./#@%=\s]/g;
/** Where they hide: a private area of Unicode, which no option's text has a use for. */
const HIDDEN_BASE = 0xe000;
const HIDDEN = /[\ue000-\ue0ff]/g;

/** Makes text that was quoted in a file safe from being divided; {@link showHidden} takes it back. */
export function hideDividers(text: string): string {
  return text.replace(DIVIDERS, (divider) =>
    divider.charCodeAt(0) > 0xff
      ? divider
      : String.fromCharCode(HIDDEN_BASE + divider.charCodeAt(0)),
  );
}

/** The text as it was before {@link hideDividers}. */
export function showHidden(text: string): string {
  return text.replace(HIDDEN, (hidden) => String.fromCharCode(hidden.charCodeAt(0) - HIDDEN_BASE));
}
