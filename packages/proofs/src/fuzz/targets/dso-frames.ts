import {
  changedTlv,
  DSO_TYPE,
  type DsoTlv,
  encodeKey,
  isDso,
  RCODE,
  readChanged,
  readDso,
  readSerialTlv,
  readSubscribed,
  ROOT_NAME,
  serialTlv,
  subscribedTlv,
  writeDso,
} from '@kube-dns/wire';
import { BYTE_MUTATIONS } from '../byte-mutations.js';
import type { FuzzTarget } from '../fuzz-target.js';

const MAX_BYTES = 4_096;
/** The smallest parts of a message become objects that are many times larger. */
const MANY = 1_000;
const NAMES = ['web.default.svc.cluster.local', '4.3.2.10.in-addr.arpa', 'cluster.local'].map(
  encodeKey,
);
const SUBSCRIBED = subscribedTlv({
  instance: new Uint8Array(8).fill(7),
  serial: 2 ** 40,
  apex: NAMES[2]!,
});
const CHANGED = [
  changedTlv({ before: 1, after: 2, names: NAMES }),
  changedTlv({ before: 2 ** 40, after: 2 ** 40 + 1, names: [NAMES[0]!] }),
  changedTlv({ before: 0, after: 1, names: [] }),
];
const SERIALS = [DSO_TYPE.FLUSH, DSO_TYPE.HEARTBEAT].map((type) => serialTlv(type, 2 ** 33));

/** Messages of DNS Stateful Operations, as both ends of a subscription read them; what is read is written as it was. */
export function createDsoMessages(): FuzzTarget {
  const messageOf = (id: number, ...tlvs: readonly DsoTlv[]) =>
    Buffer.from(writeDso({ id, isResponse: id === 2, rcode: RCODE.NOERROR, tlvs }));
  const subscribe = { type: DSO_TYPE.SUBSCRIBE, data: NAMES[2]! };
  const keepalive = { type: DSO_TYPE.KEEPALIVE, data: new Uint8Array(8) };
  const seeds = [
    messageOf(1, subscribe),
    messageOf(2, SUBSCRIBED),
    messageOf(1, keepalive, subscribe),
    ...[...CHANGED, ...SERIALS].map((tlv) => messageOf(0, tlv)),
    messageOf(1, ...Array.from({ length: MANY }, () => ({ type: 0, data: new Uint8Array(0) }))),
  ];
  return readerTarget(seeds, (bytes) => {
    if (!isDso(bytes)) return undefined;
    const message = readDso(bytes);
    if (message !== undefined && writeDso(message).length !== bytes.length) {
      throw new Error('a message has another length when it is written again');
    }
    return message;
  });
}

export function createDsoSubscribed(): FuzzTarget {
  return readerTarget(dataOf([SUBSCRIBED]), readSubscribed);
}

export function createDsoChanged(): FuzzTarget {
  const names = Array.from({ length: MANY }, () => ROOT_NAME);
  const many = changedTlv({ before: 0, after: 1, names });
  return readerTarget(dataOf([...CHANGED, many]), (data) => {
    const changed = readChanged(data);
    if (changed !== undefined && changedTlv(changed).data.length !== data.length) {
      throw new Error('names have another length when they are written again');
    }
    return changed;
  });
}

export function createDsoSerial(): FuzzTarget {
  return readerTarget(dataOf(SERIALS), readSerialTlv);
}

function dataOf(tlvs: readonly DsoTlv[]): Buffer[] {
  return tlvs.map(({ data }) => Buffer.from(data));
}

/** A reader that returns undefined for what is malformed. */
function readerTarget(seeds: readonly Buffer[], read: (bytes: Uint8Array) => unknown): FuzzTarget {
  return {
    seeds,
    tokens: [...NAMES.map((name) => Buffer.from(name)), Buffer.alloc(4), Buffer.from([0xf8, 1])],
    mutations: BYTE_MUTATIONS,
    maxBytes: MAX_BYTES,
    run: (input) => read(input) !== undefined,
  };
}
