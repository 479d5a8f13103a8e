import { SocketAddress } from 'node:net';
import { decodeName, readUint16, TYPE } from '@kube-dns/wire';
import type { RecordTree, ZoneRecord } from '../../src/zone/record-tree.js';

/** A record as one line: `owner TYPE data`. */
export function recordText({ owner, type, rdata }: Omit<ZoneRecord, 'rank'>): string {
  return `${decodeName(owner)} ${typeText(type)} ${rdataText(type, rdata)}`;
}

/** Records as lines in alphabetical order, each once. */
export function recordTexts(records: readonly ZoneRecord[]): string[] {
  return [...new Set(records.map(recordText))].sort();
}

/** What a tree has at a name, in the tree's order; undefined when the name does not exist. */
export function textsAt(tree: RecordTree, name: Uint8Array): string[] | undefined {
  return tree
    .find(name, 0, name.length)
    ?.sets.flatMap(({ type, rdata }) =>
      rdata.map((one) => `${typeText(type)} ${rdataText(type, one)}`),
    );
}

function typeText(type: number): string {
  return Object.entries(TYPE).find(([, number]) => number === type)?.[0] ?? String(type);
}

function rdataText(type: number, rdata: Uint8Array): string {
  switch (type) {
    case TYPE.A:
      return rdata.join('.');
    case TYPE.AAAA: {
      const groups = Array.from({ length: 8 }, (_, i) => readUint16(rdata, i * 2).toString(16));
      return new SocketAddress({ address: groups.join(':'), family: 'ipv6' }).address;
    }
    case TYPE.SRV: {
      const [priority, weight, port] = [0, 2, 4].map((at) => readUint16(rdata, at));
      return `${priority} ${weight} ${port} ${decodeName(rdata, 6)}`;
    }
    case TYPE.CNAME:
    case TYPE.PTR:
      return decodeName(rdata);
    default:
      return Buffer.from(rdata).toString('hex');
  }
}
