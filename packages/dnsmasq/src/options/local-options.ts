import { OptionError } from '../errors.js';
import { fields, flag, list, type OptionDefinition, setting } from './option-definition.js';
import {
  cnameRecords,
  anyRecord,
  caaRecord,
  hostRecords,
  mxRecord,
  nameOf,
  naptrRecord,
  ptrRecord,
  srvRecord,
  txtRecord,
} from './record-values.js';
import { parseAddressRule } from './server-value.js';
import { parseDynamicHost } from './dynamic-host.js';
import { parseSynthDomain } from './synth-domain.js';

const FAMILIES = { '': 'both', '4': 'ipv4', '6': 'ipv6' } as const;

/** Which questions are answered without asking a server. */
export const LOCAL_OPTIONS: readonly OptionDefinition[] = [
  list(
    'addn-hosts',
    'H',
    'hosts file, or directory of them, in addition to /etc/hosts',
    (draft, value) => {
      draft.hostsPaths.push(value);
    },
  ),
  list('address', 'A', '/domain/…/[IP]: the answer for these domains', (draft, value) => {
    const rule = parseAddressRule(value);
    if ('target' in rule) draft.serverRules.push(rule);
    else draft.addressRules.push(rule);
  }),
  fields('caa-record', '', 'name,flags,tag,value', (draft, values) => {
    draft.records.push(caaRecord(values));
  }),
  fields('cname', '', 'name,target[,ttl]', (draft, values) => {
    draft.records.push(...cnameRecords(draft.records, values));
  }),
  fields('dns-rr', '', 'name,type number[,hex data]', (draft, values) => {
    draft.records.push(anyRecord(values));
  }),
  fields(
    'domain',
    's',
    'the domain that --expand-hosts adds',
    (draft, values) => {
      const [domain = ''] = values;
      if (domain !== '' && domain !== '#') nameOf(domain, 'bad domain');
      draft.domain = domain === '#' ? '' : domain.replace(/\.$/, '');
    },
    'optional',
  ),
  fields(
    'dynamic-host',
    '',
    'name,[IPv4],[IPv6],interface: a name for hosts in the networks of an interface',
    (draft, values) => {
      draft.interfaceNames.push(parseDynamicHost(values));
    },
  ),
  flag('expand-hosts', 'E', 'add the domain to names of hosts files that have no dot', (draft) => {
    draft.expandsHosts = true;
  }),
  fields(
    'host-record',
    '',
    'name,…,IPv4,IPv6[,ttl]: addresses and their reverse',
    (draft, values) => {
      draft.records.push(...hostRecords(values));
    },
  ),
  list('hostsdir', '', 'directory of hosts files, watched for changes', (draft, value) => {
    draft.hostsDirs.push(value);
  }),
  fields(
    'interface-name',
    '',
    'name,interface[/4|/6]: a name for its addresses',
    (draft, values) => {
      const [name = '', port = ''] = values;
      const [, device, family = ''] = /^([^/]+)(?:\/([46]))?$/.exec(port) ?? [];
      if (device === undefined) {
        const words = port === '' ? 'bad interface name' : undefined;
        throw new OptionError(`bad interface ${JSON.stringify(port)}`, words);
      }
      const families = FAMILIES[family as keyof typeof FAMILIES];
      draft.interfaceNames.push({ name: nameOf(name).key, interface: device, families });
    },
  ),
  flag(
    'localise-queries',
    'y',
    'answer with the addresses of a name that are in the client’s network',
    (draft) => {
      draft.localisesQueries = true;
    },
  ),
  flag('localmx', 'L', 'an MX record with the target --mx-target for each host', (draft) => {
    draft.sendsHostMxToTarget = true;
  }),
  fields('mx-host', 'm', 'name[,target[,preference]]', (draft, values) => {
    // The target may be on a later line; the name is checked here, while its line is being read.
    const record = mxRecord(values);
    if (values.length === 1) draft.mxNames.push(values[0]!);
    else draft.records.push(record);
  }),
  setting('mx-target', 't', 'the target of --mx-host that has none', (draft, value) => {
    draft.mxTarget = value;
  }),
  fields(
    'naptr-record',
    '',
    'name,order,preference,flags,service,regexp[,replacement]',
    (draft, values) => {
      draft.records.push(naptrRecord(values));
    },
  ),
  flag('no-hosts', 'h', 'do not read /etc/hosts', (draft) => {
    draft.usesEtcHosts = false;
  }),
  flag('no-ident', '', 'no names of class CHAOS', (draft) => {
    draft.hasIdent = false;
  }),
  fields('ptr-record', '', 'name,target', (draft, values) => {
    draft.records.push(ptrRecord(values));
  }),
  flag('selfmx', 'e', 'an MX record with itself as the target for each host', (draft) => {
    draft.hostMx = 'self';
  }),
  fields('srv-host', 'W', 'name[,target[,port[,priority[,weight]]]]', (draft, values) => {
    draft.records.push(srvRecord(values));
  }),
  fields(
    'synth-domain',
    '',
    'domain,IP/bits or IP,IP[,prefix[*]]: names made of the addresses of a range',
    (draft, values) => {
      draft.synthDomains.push(parseSynthDomain(values));
    },
  ),
  fields('txt-record', 'Y', 'name,text,…', (draft, values) => {
    draft.records.push(txtRecord(values));
  }),
];
