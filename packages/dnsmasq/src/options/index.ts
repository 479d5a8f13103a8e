// The spellings of dnsmasq's options, for who reads its command lines.
export { OPTION_SPELLINGS } from './option-table.js';
export type { OptionSpelling } from './option-kinds.js';
