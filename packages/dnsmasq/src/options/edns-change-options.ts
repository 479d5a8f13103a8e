import { OptionError } from '../errors.js';
import { type EdnsChanges, parseSubnets, parseUmbrella } from './edns-changes.js';
import { fields, flag, list, type OptionDefinition, setting } from './option-definition.js';
import type { OptionsDraft } from './option-values.js';

function change(draft: OptionsDraft, changes: Partial<EdnsChanges>): void {
  draft.ednsChanges = { ...draft.ednsChanges, ...changes };
}

/** What queries to upstream servers contain about the clients. */
export const EDNS_CHANGE_OPTIONS: readonly OptionDefinition[] = [
  setting('add-cpe-id', '', 'add this text to queries', (draft, value) => {
    change(draft, { cpeId: value });
  }),
  list(
    'add-mac',
    '',
    'add the client’s MAC to queries, as bytes, base64 or text',
    (draft, value) => {
      if (value === '') change(draft, { addsMac: true });
      else if (value === 'base64' || value === 'text') change(draft, { addsMacText: value });
      else throw new OptionError(`${JSON.stringify(value)} is neither base64 nor text`);
    },
    'optional',
  ),
  setting(
    'add-subnet',
    '',
    '[IP/]bits[,[IP/]bits]: add this many bits of the client’s address to queries',
    (draft, value) => change(draft, { addsSubnet: parseSubnets(value) }),
    'optional',
  ),
  flag('strip-mac', '', 'remove the client’s MAC from queries', (draft) => {
    change(draft, { stripsMac: true });
  }),
  flag('strip-subnet', '', 'remove the client’s subnet from queries', (draft) => {
    change(draft, { stripsSubnet: true });
  }),
  fields(
    'umbrella',
    '',
    'deviceid:…,orgid:…,assetid:…: add these and the client’s address for Cisco Umbrella',
    (draft, values) => {
      change(draft, { umbrella: parseUmbrella(values.filter(Boolean)) });
    },
    'optional',
  ),
];
