import { CACHE_OPTIONS } from './cache-options.js';
import { COOKIE_OPTIONS } from './cookie-options.js';
import { EDNS_CHANGE_OPTIONS } from './edns-change-options.js';
import { FILTER_OPTIONS } from './filter-options.js';
import { FORWARDING_OPTIONS } from './forwarding-options.js';
import { LOCAL_OPTIONS } from './local-options.js';
import { NOTIFY_OPTIONS } from './notify-options.js';
import type { OptionDefinition } from './option-definition.js';
import { PROCESS_OPTIONS } from './process-options.js';

/** Every supported option, sorted by name, without those that name files of options. */
export const OPTIONS: readonly OptionDefinition[] = [
  ...PROCESS_OPTIONS,
  ...CACHE_OPTIONS,
  ...FORWARDING_OPTIONS,
  ...EDNS_CHANGE_OPTIONS,
  ...FILTER_OPTIONS,
  ...LOCAL_OPTIONS,
  ...NOTIFY_OPTIONS,
  ...COOKIE_OPTIONS,
].sort((one, other) => (one.name < other.name ? -1 : 1));
