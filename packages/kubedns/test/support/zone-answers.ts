import { AnswerWriter, MAX_MESSAGE_BYTES } from '@kube-dns/wire';
import { ReverseAnswerer } from '../../src/answer/reverse-answerer.js';
import { ZoneAnswerer } from '../../src/answer/zone-answerer.js';
import type { ClusterZone } from '../../src/zone/cluster-zone.js';
import { readQuery } from './messages.js';

const TTLS = { ttlSeconds: 30, negativeTtlSeconds: 5 };
const TYPES = ['A', 'SRV', 'CNAME'];
const ANY_ADDRESSES = ['10.0.0', '10.1.0', '10.1.1'].flatMap((net) =>
  [1, 2, 3, 4, 5, 6].map((host) => `${host}.${net.split('.').reverse().join('.')}.in-addr.arpa`),
);

/** The answers of a zone to the same questions about `names` in `default`, as bytes, without chance. */
export function zoneAnswers(zone: ClusterZone, names: readonly string[]): string[] {
  const zoneAnswerer = new ZoneAnswerer({ ...TTLS, zone, random: () => 0 });
  const reverse = new ReverseAnswerer({ ...TTLS, zone, mode: 'all' });
  const writer = new AnswerWriter();
  const out = new Uint8Array(MAX_MESSAGE_BYTES);
  const hosts = names.flatMap((name) => [name, `h-1.${name}`, `_http._tcp.${name}`]);
  const ofZone = ['cluster.local', ...hosts.map((host) => `${host}.default.svc.cluster.local`)];
  const answers = ofZone.flatMap((name) =>
    TYPES.map((type) => {
      const query = readQuery(name, type, { isOverTcp: true });
      zoneAnswerer.read(query.name, query.nameLength);
      writer.begin(query, out);
      zoneAnswerer.answer(query, writer);
      return `${name} ${type} ${Buffer.from(out.subarray(0, writer.finish())).toString('hex')}`;
    }),
  );
  const pointers = ANY_ADDRESSES.map((name) => {
    const query = readQuery(name, 'PTR', { isOverTcp: true });
    if (!reverse.find(query)) return `${name} unknown`;
    writer.begin(query, out);
    reverse.answer(writer);
    return `${name} ${Buffer.from(out.subarray(0, writer.finish())).toString('hex')}`;
  });
  return [...answers, ...pointers];
}
