import { decodeName } from '@kube-dns/wire';
import type { HostRecords } from '../watch/projections.js';
import { type Entry, labelsOf, type Node, sorted } from '../zone/cache-json.js';
import { addressTexts, protocolNodes } from '../zone/imported-json.js';
import type { ExternalZone, OutsideService } from './external-zone.js';

/** A host name, perhaps with `*` first, and what it leads to. */
export interface ShownHost {
  readonly host: string;
  readonly records: HostRecords;
}

/** What `/cache` shows of the zone of `--external-domain`: services with their addresses and named ports. */
export function externalNode(zone: ExternalZone): Node {
  const namespaces = new Map<string, Map<string, OutsideService>>();
  for (const each of zone.services) {
    const [namespace = '', name = ''] = each.key.split('/');
    const services = namespaces.get(namespace) ?? new Map<string, OutsideService>();
    namespaces.set(namespace, services.set(name, each));
  }
  const children = sorted(namespaces).map(([namespace, services]) => {
    const below = sorted(services).map(([name, each]) => [name, serviceNode(each)] as const);
    return [namespace, { children: below, entries: [] }] as const;
  });
  return { children, entries: [] };
}

/** Made when the iteration reaches it. */
function serviceNode({ name, records, ports }: OutsideService): Node {
  return {
    get children() {
      const { ipv4, ipv6, target = name } = records;
      return protocolNodes([{ leaf: '', name: `${decodeName(target)}.`, ipv4, ipv6, ports }]);
    },
    get entries() {
      return entriesOf(records);
    },
  };
}

function entriesOf(records: HostRecords): (readonly [string, Entry])[] {
  const { target } = records;
  const texts = target === undefined ? addressTexts(records) : [`${decodeName(target)}.`];
  return texts.map((host) => [host, { host }] as const);
}

/** A name while the tree is made. */
interface Draft {
  readonly children: Map<string, Draft>;
  readonly records: HostRecords[];
}

/** What `/cache` shows of hosts of any domain: a node for each label, below the root. */
export function hostsNode(hosts: Iterable<ShownHost>): Node {
  const root: Draft = { children: new Map<string, Draft>(), records: [] };
  for (const { host, records } of hosts) {
    let draft = root;
    for (const label of labelsOf(host)) {
      const next = draft.children.get(label) ?? { children: new Map<string, Draft>(), records: [] };
      draft.children.set(label, next);
      draft = next;
    }
    draft.records.push(records);
  }
  return nodeOf(root);
}

function nodeOf({ children, records }: Draft): Node {
  return {
    get children() {
      return sorted(children).map(([label, draft]) => [label, nodeOf(draft)] as const);
    },
    get entries() {
      return records.flatMap(entriesOf);
    },
  };
}
