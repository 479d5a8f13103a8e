import { decodeName, TYPE } from '@kube-dns/wire';
import { keyText, type LocalRecord } from './record-values.js';

/** Finds a `--cname` that leads into a loop: the last such alias, as dnsmasq names it; else undefined. */
export function findAliasLoop(records: readonly LocalRecord[]): string | undefined {
  const targets = new Map<string, string>();
  for (const { owner, type, rdata } of records) {
    const alias = keyText(owner);
    // The first target is the one that is followed; --dns-rr can add more.
    if (type !== TYPE.CNAME || targets.has(alias)) continue;
    targets.set(alias, keyText(rdata));
  }
  const safe = new Set<string>();
  for (const alias of [...targets.keys()].reverse()) {
    const path = new Set<string>();
    for (
      let name: string | undefined = alias;
      name !== undefined && !safe.has(name);
      name = targets.get(name)
    ) {
      if (path.has(name)) return decodeName(Buffer.from(alias, 'latin1'));
      path.add(name);
    }
    for (const name of path) safe.add(name);
  }
  return undefined;
}
