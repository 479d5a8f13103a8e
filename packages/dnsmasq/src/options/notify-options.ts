import { list, type OptionDefinition, setting } from './option-definition.js';
import { parseNotifyRule } from './notify-rule.js';

/** Who may tell what changed by a NOTIFY. dnsmasq has none of them. */
export const NOTIFY_OPTIONS: readonly OptionDefinition[] = [
  list(
    'allow-notify',
    '',
    'extension: /zone/IP[/bits][,IP[/bits]…]: a NOTIFY from there drops cached answers of the zone',
    (draft, value) => {
      draft.notifyRules.push(parseNotifyRule(value));
    },
  ),
  setting(
    'notify-key',
    '',
    'extension: file with the TSIG key that a NOTIFY must be signed with, as tsig-keygen writes it',
    (draft, value) => {
      draft.notifyKeyFile = value;
    },
  ),
];
