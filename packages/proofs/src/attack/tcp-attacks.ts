import { frameMessage } from '@kube-dns/transport';
import { encodeQuery } from '@kube-dns/wire';
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
  readonly plans: readonly TcpAttackPlan[];
}

function attack({ name, target, what, plans }: TcpPlan): Attack {
  return {
    name,
    target,
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
export const TCP_ATTACKS: readonly Attack[] = (['dnsmasq', 'kubedns'] as const).flatMap(
  (target) => {
    const prefix = target === 'dnsmasq' ? '' : 'kubedns-';
    return [
      attack({
        name: `${prefix}tcp-slow`,
        target,
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
  },
);
