import { encodeQuery, encodeReply, type Response, soaRecord } from '@kube-dns/testkit';
import {
  appendZoneVersion,
  FLAG,
  type Query,
  RCODE,
  readQuery,
  TYPE,
  writeUint16,
  ZONE_VERSION_REQUEST,
  type ZoneVersion,
} from '@kube-dns/wire';

/** Of all messages. */
export const MAX_BYTES = 1232;
const OPT = Uint8Array.of(0, 0, TYPE.OPT, 4, 0xd0, 0, 0, 0, 0, 0, 0);

export const SERVICES = ['a.x.svc.z', 'b.x.svc.z'];
/** A CNAME of the first service, and a name that exists while a service below it does. */
export const NAMES = [...SERVICES, 'h.a.x.svc.z', 'alias.y.svc.z', 'x.svc.z'];

/** Services by name, each with an address. */
export type Zone = ReadonlyMap<string, string>;

/** What the server says of a name, and what a cache shows of that, as one text. */
export function truth(zone: Zone, name: string): string {
  if (name === 'x.svc.z') return zone.size > 0 ? 'NOERROR' : 'NXDOMAIN';
  return zone.get(name === NAMES[3] ? SERVICES[0]! : name.replace(/^h\./, '')) ?? 'NXDOMAIN';
}

function responseOf(zone: Zone, name: string): Response {
  const text = truth(zone, name);
  const alias = { type: 'CNAME' as const, ttl: 30, data: SERVICES[0]! };
  const cnames = name === NAMES[3] ? [alias] : [];
  const head = { isAuthoritative: true, authorities: [soaRecord(5, 'z', 5)], answers: cnames };
  if (text === 'NXDOMAIN') return { ...head, rcode: RCODE.NXDOMAIN };
  if (text === 'NOERROR') return head;
  const owner = cnames.length > 0 ? SERVICES[0]! : name;
  return {
    isAuthoritative: true,
    answers: [...cnames, { name: owner, type: 'A', ttl: 30, data: text }],
  };
}

/** A question that asks for the version of the zone. */
export function questionFor(name: string): Query {
  const message = Buffer.concat([
    encodeQuery({ name, ednsBytes: MAX_BYTES }),
    ZONE_VERSION_REQUEST,
  ]);
  const { length } = ZONE_VERSION_REQUEST;
  writeUint16(message, message.length - length - 2, length);
  return readQuery(message);
}

/** What the server replies to it. */
export function replyOf(zone: Zone, name: string, version: ZoneVersion): Buffer {
  const plain = encodeReply(questionFor(name), responseOf(zone, name));
  const out = Buffer.alloc(MAX_BYTES);
  out.set(plain);
  const hasOpt = plain.subarray(-OPT.length)[2] === TYPE.OPT;
  const optAt = hasOpt ? plain.length - OPT.length : plain.length;
  out.set(OPT, optAt);
  writeUint16(out, 10, 1);
  out[2]! |= FLAG.AA >> 8;
  const end = appendZoneVersion(out, optAt + OPT.length, MAX_BYTES, version);
  return out.subarray(0, end);
}
