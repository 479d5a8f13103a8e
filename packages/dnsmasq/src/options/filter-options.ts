import { TYPE } from '@kube-dns/wire';
import { parseAddressRange, parseAlias } from './address-range.js';
import { fields, flag, list, type OptionDefinition } from './option-definition.js';
import { parseType } from './rr-type.js';
import { parsePlainDomains } from './rule-domains.js';

/** Which queries are not forwarded, and how answers are changed. */
export const FILTER_OPTIONS: readonly OptionDefinition[] = [
  fields('alias', 'V', 'old,new[,mask]: change addresses in answers', (draft, values) => {
    draft.aliases.push(parseAlias(values));
  }),
  list('bogus-nxdomain', 'B', 'answers with this address or range are NXDOMAIN', (draft, value) => {
    draft.bogusNxdomain.push(parseAddressRange(value));
  }),
  flag('bogus-priv', 'b', 'do not forward reverse names of private addresses', (draft) => {
    draft.isBogusPriv = true;
  }),
  flag('domain-needed', 'D', 'do not forward names without a dot', (draft) => {
    draft.needsDomain = true;
  }),
  flag('filter-A', '', 'remove A records from answers', (draft) => {
    draft.filteredTypes.push(TYPE.A);
  }),
  flag('filter-AAAA', '', 'remove AAAA records from answers', (draft) => {
    draft.filteredTypes.push(TYPE.AAAA);
  }),
  fields('filter-rr', '', 'remove records of these types from answers', (draft, values) => {
    const types = values.map((field) => parseType(field, 'bad RR type'));
    draft.filteredTypes.push(...types);
  }),
  flag('filterwin2k', 'f', 'do not forward SOA and SRV questions of old Windows', (draft) => {
    draft.filtersWindows = true;
  }),
  list('ignore-address', '', 'drop answers with this address or range', (draft, value) => {
    draft.ignoredAddresses.push(parseAddressRange(value));
  }),
  list('rebind-domain-ok', '', 'domains that may have private addresses', (draft, value) => {
    const { domains, isUnqualified = false } = draft.rebindDomains;
    const more = parsePlainDomains(value);
    draft.rebindDomains = {
      domains: [...domains, ...more.domains],
      isUnqualified: isUnqualified || more.isUnqualified === true,
    };
  }),
  flag(
    'rebind-localhost-ok',
    '',
    'allow loopback addresses in answers with --stop-dns-rebind',
    (draft) => {
      draft.allowsLocalhostRebind = true;
    },
  ),
  flag(
    'stop-dns-rebind',
    '',
    'remove the records of default servers’ answers with private addresses',
    (draft) => {
      draft.stopsRebind = true;
    },
  ),
];
