import { frameMessage } from '@kube-dns/transport';
import { DSO_TYPE, encodeKey, encodeQuery, RCODE, writeDso } from '@kube-dns/wire';
import { type Attack, countText } from './attack.js';
import { HONEST_NAMES, LARGE_NAME } from './names.js';
import { addressQuery, paddedQuery } from './query-template.js';
import type { TcpAttackPlan } from './tcp-attacker.js';

const SLOW_CLIENTS = 2_000;
const MAX_FRAME = 65_000;
const PIPELINED = 2_000;

const QUERY = frameMessage(encodeQuery({ id: 1, name: HONEST_NAMES[0]!, type: 'A' }));
const LARGE_QUERY = frameMessage(encodeQuery({ id: 2, name: LARGE_NAME, type: 'A' }));
const LARGE_FRAME = frameMessage(paddedQuery(addressQuery(HONEST_NAMES[0]!), MAX_FRAME).message);

interface TcpPlan {
  readonly name: string;
  readonly target: Attack['target'];
  readonly what: string;
  readonly counted?: string;
  readonly plans: readonly TcpAttackPlan[];
}

function attack({ name, target, what, counted, plans }: TcpPlan): Attack {
  return {
    name,
    target,
    ...(counted !== undefined && { counted }),
    summary: what,
    start: async ({ attackers, port, strength }) => {
      const strong = plans.map((plan) => ({ ...plan, perSecond: plan.perSecond * strength }));
      await attackers.tcp.call('start', port, strong);
      return {
        finish: async () => {
          const { opened, mostOpen, writes, perSecond } = await attackers.tcp.call('finish');
          const connections = `${countText(opened, 'connections')}, ${countText(mostOpen, 'at once')}`;
          return { did: `${connections}, ${countText(writes, 'writes')}`, perSecond };
        },
      };
    },
  };
}

/** A third does nothing, a third sends a byte now and then, a third has closed its side. */
const SLOW: readonly TcpAttackPlan[] = [
  { connections: Math.ceil(SLOW_CLIENTS / 3), perSecond: 0, first: [] },
  {
    connections: Math.ceil(SLOW_CLIENTS / 3),
    perSecond: SLOW_CLIENTS / 3,
    first: [LARGE_FRAME.subarray(0, 3)],
    stream: LARGE_FRAME,
  },
  {
    connections: Math.floor(SLOW_CLIENTS / 3),
    perSecond: 0,
    first: [QUERY, LARGE_FRAME.subarray(0, 3)],
    isHalfClosed: true,
    isDeaf: true,
  },
];

const FRAGMENTS: readonly TcpAttackPlan[] = [
  { connections: 50, perSecond: 5_000, first: [], stream: QUERY },
  // Nearly whole from the start, so that each byte meets the largest buffer.
  {
    connections: 200,
    perSecond: 5_000,
    first: [LARGE_FRAME.subarray(0, 60_000)],
    stream: LARGE_FRAME.subarray(60_000),
  },
];

const dso = (type: number, data: Uint8Array) =>
  frameMessage(
    writeDso({ id: 1, isResponse: false, rcode: RCODE.NOERROR, tlvs: [{ type, data }] }),
  );
const SUBSCRIBE = dso(DSO_TYPE.SUBSCRIBE, encodeKey('cluster.local'));
/** Of every operation, with data that has no meaning, as a whole and in the middle of another. */
const GARBAGE = Buffer.concat(
  [...Object.values(DSO_TYPE), 0, 0xffff].flatMap((type) => [
    dso(type, Uint8Array.of(63, 0, 192, 12)),
    dso(type, new Uint8Array(60_000)),
    frameMessage(SUBSCRIBE.subarray(2, 14 + (type % 7))),
  ]),
);

/** Those that take all places and read nothing, as many again that try, and those that say that they are there. */
const SUBSCRIBERS: readonly TcpAttackPlan[] = [
  { connections: 300, perSecond: 0, first: [SUBSCRIBE], isDeaf: true },
  {
    connections: 50,
    perSecond: 5_000,
    first: [SUBSCRIBE],
    stream: dso(DSO_TYPE.KEEPALIVE, new Uint8Array(8)),
    writeBytes: 1_000,
  },
  { connections: 50, perSecond: 500, first: [], stream: GARBAGE, writeBytes: 8_192 },
];

const DEAF: readonly TcpAttackPlan[] = [
  {
    connections: 1_000,
    perSecond: 50,
    first: [],
    stream: Buffer.concat(Array.from({ length: PIPELINED }, () => LARGE_QUERY)),
    writeBytes: PIPELINED * LARGE_QUERY.length,
    isDeaf: true,
  },
];

/** Attacks by clients over TCP, on both containers. */
export const TCP_ATTACKS: readonly Attack[] = [
  ...(['dnsmasq', 'kubedns'] as const).flatMap((target) => {
    const prefix = target === 'dnsmasq' ? '' : 'kubedns-';
    return [
      attack({
        name: `${prefix}tcp-slow`,
        target,
        counted: 'TCP refused',
        what: `${countText(SLOW_CLIENTS, 'clients')} that are idle, send a byte a second, or have closed their side`,
        plans: SLOW,
      }),
      attack({
        name: `${prefix}tcp-fragments`,
        target,
        what: '250 clients that send frames of up to 64 KiB byte by byte, 10,000 bytes/s together',
        plans: FRAGMENTS,
      }),
      attack({
        name: `${prefix}tcp-deaf`,
        target,
        what: '1,000 clients that ask for 6 KiB 2,000 times and read nothing, 50 of them each second',
        plans: DEAF,
      }),
    ];
  }),
  attack({
    name: 'kubedns-subscribers',
    target: 'kubedns',
    what: '300 clients that subscribe and read nothing, 50 that send keepalives without end, and 50 that send garbage',
    plans: SUBSCRIBERS,
  }),
];
