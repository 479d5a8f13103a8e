import { decodeName, TYPE } from '@kube-dns/wire';
import { keyText, type LocalRecord } from './record-values.js';

/** Finds a `--cname` that leads into a loop: the owner name of the last one, as dnsmasq reports it; else undefined. */
export function findCnameLoop(records: readonly LocalRecord[]): string | undefined {
  const targets = new Map<string, string>();
  for (const { owner: ownerName, type, rdata } of records) {
    const owner = keyText(ownerName);
    // Only the first target is followed; --dns-rr can add more.
    if (type !== TYPE.CNAME || targets.has(owner)) continue;
    targets.set(owner, keyText(rdata));
  }
  const safe = new Set<string>();
  for (const owner of [...targets.keys()].reverse()) {
    const path = new Set<string>();
    for (
      let name: string | undefined = owner;
      name !== undefined && !safe.has(name);
      name = targets.get(name)
    ) {
      if (path.has(name)) return decodeName(Buffer.from(owner, 'latin1'));
      path.add(name);
    }
    for (const name of path) safe.add(name);
  }
  return undefined;
}
