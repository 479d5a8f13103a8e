import { type Query, ReverseAddress, suffixOffset, TYPE } from '@kube-dns/wire';
import { SynthNames } from '../local/synth-names.js';
import type { GivenOption } from '../options/given-options.js';
import type { DnsmasqOptions } from '../options/option-table.js';
import type { RuleDomains } from '../options/server-value.js';
import { originOf, type RecordOrigin } from './local-origins.js';

/** A rule that answers without a server: in words, and the options that say so. */
export interface AnsweringRule {
  readonly text: string;
  readonly origins: readonly RecordOrigin[];
}

/** The rule whose Extended DNS Error has this text: see explanations.ts. */
export function answeringRule(
  reason: string,
  query: Query,
  options: DnsmasqOptions,
): AnsweringRule {
  const { given, synthDomains, addressRules, serverRules } = options;
  const named = (...names: readonly string[]) =>
    given.all.filter(({ name }) => names.includes(name)).map(originOf);
  switch (reason) {
    case 'filtered type':
      return {
        text: 'The name has an address, and records of this type are filtered',
        origins: named('filter-A', 'filter-AAAA', 'filter-rr'),
      };
    case '--synth-domain':
      return {
        text: 'The name is made of an address, or is that of one',
        origins: made(
          synthDomains.filter((one) => isMadeBy(new SynthNames([one]), query)),
          options,
        ),
      };
    case '--bogus-priv':
      return {
        text: 'It is the reverse name of a private address, which no server outside knows',
        origins: named('bogus-priv'),
      };
    case '--filterwin2k':
      return { text: 'Only old Windows asks such questions', origins: named('filterwin2k') };
    case '--domain-needed':
      return {
        text: 'A name of one label is not sent to servers',
        origins: named('domain-needed'),
      };
    case '--address':
      return {
        text: 'A rule gives the domain an address',
        origins: made(longest(addressRules, query), options),
      };
    default: {
      const local = serverRules.filter(({ target }) => target.kind === 'local');
      return {
        text: 'The domain is local: no server is asked for its names',
        origins: made(longest([...addressRules, ...local], query), options),
      };
    }
  }
}

function made(rules: readonly object[], { given }: DnsmasqOptions): RecordOrigin[] {
  const options = new Set<GivenOption>();
  for (const rule of rules) {
    const option = given.of(rule);
    if (option !== undefined) options.add(option);
  }
  return Array.from(options, originOf);
}

/** The rules with the longest domain that the name is in. */
function longest<T extends RuleDomains>(rules: readonly T[], query: Query): T[] {
  const lengths = rules.map((rule) => matchedBytes(rule, query));
  const most = Math.max(0, ...lengths);
  return rules.filter((_, i) => lengths[i] === most && most > 0);
}

function matchedBytes(
  { domains, wildcards = [], isUnqualified }: RuleDomains,
  query: Query,
): number {
  const { name, nameLength } = query;
  const isIn = (domain: Uint8Array) => suffixOffset(name, nameLength, domain) >= 0;
  const plain = domains.filter(isIn).map(({ length }) => length);
  const wild = wildcards
    .filter(({ parent }) => isIn(parent))
    .map(({ labelEnd, parent }) => labelEnd.length + parent.length);
  return Math.max(0, isUnqualified === true ? 1 : 0, ...plain, ...wild);
}

function isMadeBy(synth: SynthNames, { name, nameLength, type }: Query): boolean {
  if (synth.hasName(name, nameLength)) return true;
  if (type !== TYPE.PTR && type !== TYPE.ANY) return false;
  const { size, isWhole, bytes } = new ReverseAddress().read(name, nameLength);
  return isWhole && synth.nameOf(bytes.subarray(0, size)) !== undefined;
}
