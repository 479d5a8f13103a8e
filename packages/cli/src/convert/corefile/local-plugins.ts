import { isIP } from 'node:net';
import type { Directive } from '@kube-dns/node-cache/corefile';
import { plainDomain } from '../dns-setup.js';
import { change, lose, wholeNumber, type PluginContext } from './plugin-context.js';

/** The default `ttl` of the plugin hosts. */
const DEFAULT_TTL = 3600;
const ANSWER = /^\{\{ ?\.Name ?\}\}\s+(\d{1,9})\s+IN\s+(A|AAAA)\s+(\S+)$/;

/** Reads `hosts [FILE [ZONES…]] { … }` into host records and a hosts file. */
export function readHosts(plugin: Directive, zone: string, context: PluginContext): void {
  const { draft } = context;
  const [file = '', ...zones] = plugin.args;
  const options = plugin.block ?? [];
  if (zones.length > 0) change(context, plugin, zone, 'dnsmasq serves the file for every domain');
  if (file !== '' && draft.hostsFile !== '' && draft.hostsFile !== file) {
    lose(context, plugin, zone, 'one hosts file is carried over');
  } else if (file !== '') draft.hostsFile = file;
  if (!options.some(({ name }) => name === 'fallthrough')) {
    change(context, plugin, zone, 'names that are not in it go on to the servers');
  }
  const ttl = options.find(({ name }) => name === 'ttl');
  draft.localTtl = wholeNumber(ttl?.args[0]) ?? DEFAULT_TTL;
  if (ttl !== undefined && wholeNumber(ttl.args[0]) === undefined) {
    lose(context, ttl, zone, 'not a number');
  }
  for (const option of options) {
    const { name, args } = option;
    if (isIP(name) !== 0 && args.length > 0) {
      draft.hosts = [...draft.hosts, { address: name, names: args.map(plainDomain) }];
    } else if (name === 'fallthrough' ? args.length > 0 : name !== 'ttl') {
      lose(context, option, zone, 'dnsmasq has nothing like it');
    }
  }
}

/** Reads the `template`s that correspond to `--address`, `--local` and `--filter-AAAA`. */
export function readTemplate(plugin: Directive, zone: string, context: PluginContext): void {
  const { draft } = context;
  const [dnsClass = '', type = '', ...zones] = plugin.args;
  const options = plugin.block ?? [];
  const isOfNames = ['IN', 'ANY'].includes(dnsClass);
  const domains = (zones.length === 0 ? [zone] : zones).map(plainDomain);
  const [option, ...others] = options;
  if (isOfNames && option?.name === 'rcode' && others.length === 0) {
    if (option.args[0] === 'NXDOMAIN' && type === 'ANY' && !domains.includes('.')) {
      draft.emptyDomains = [...draft.emptyDomains, ...domains];
      return;
    }
    if (option.args[0] === 'NOERROR' && (type === 'A' || type === 'AAAA')) {
      if (domains.join() === zone) {
        context.filters.push({ zone, type });
        return;
      }
    }
  }
  const answers = options.map(({ name, args }) =>
    name === 'answer' && args.length === 1 ? ANSWER.exec(args[0] ?? '') : null,
  );
  const isPlain = answers.length > 0 && answers.every((each) => each !== null && each[2] === type);
  if (!isOfNames || !isPlain) {
    lose(context, plugin, zone, 'dnsmasq gives a domain fixed addresses, or none of its names');
    return;
  }
  const addresses = answers.map((each) => each?.[3] ?? '');
  draft.localTtl = Number(answers[0]?.[1] ?? 0);
  draft.addresses = new Map([
    ...draft.addresses,
    ...domains.map((each) => [each, [...(draft.addresses.get(each) ?? []), ...addresses]] as const),
  ]);
}
