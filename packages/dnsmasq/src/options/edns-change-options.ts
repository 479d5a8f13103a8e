import { OptionError } from '../errors.js';
import { type EdnsChanges, parseSubnets, parseUmbrella } from './edns-changes.js';
import { fields, flag, list, type OptionDefinition, setting } from './option-definition.js';
import type { OptionsDraft } from './option-values.js';

function change(draft: OptionsDraft, changes: Partial<EdnsChanges>): void {
  draft.ednsChanges = { ...draft.ednsChanges, ...changes };
}

/** What queries tell upstream servers of the clients. */
export const EDNS_CHANGE_OPTIONS: readonly OptionDefinition[] = [
  setting('add-cpe-id', '', 'send this text with queries', (draft, value) => {
    change(draft, { cpeId: value });
  }),
  list(
    'add-mac',
    '',
    'send the client’s MAC with queries, as bytes, base64 or text',
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
    '[IP/]bits[,[IP/]bits]: send so much of the client’s address with queries',
    (draft, value) => change(draft, { addsSubnet: parseSubnets(value) }),
    'optional',
  ),
  flag('strip-mac', '', 'take the client’s MAC out of queries', (draft) => {
    change(draft, { stripsMac: true });
  }),
  flag('strip-subnet', '', 'take the client’s subnet out of queries', (draft) => {
    change(draft, { stripsSubnet: true });
  }),
  fields(
    'umbrella',
    '',
    'deviceid:…,orgid:…,assetid:…: tell Cisco Umbrella these and the client’s address',
    (draft, values) => {
      change(draft, { umbrella: parseUmbrella(values.filter(Boolean)) });
    },
    'optional',
  ),
];
