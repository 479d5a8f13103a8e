import type { MetricPage } from '@kube-dns/testkit';
import { frameMessage } from '@kube-dns/transport';
import { DSO_TYPE, encodeKey, encodeQuery, RCODE, writeDso, writeNotify } from '@kube-dns/wire';
import { type Attack, countText, DOMAINS, HONEST_NAMES, LARGE_NAME, type Pod } from './attack.js';
import {
  addressQuery,
  anyQuery,
  bombQueries,
  paddedQuery,
  type QueryTemplate,
  randomFormQuery,
  randomNameQuery,
} from './messages.js';
import type { TcpAttackPlan } from './tcp-attacker.js';

const QUERIES_PER_SECOND = 5_000;
/** Each is as much work for the attacker as many small ones. */
const LARGE_PER_SECOND = 3_000;
/** As large as a datagram can be, and as large as a reader takes without cutting it. */
const MAX_DATAGRAM = 65_000;
const READ_DATAGRAM = 4_096;
const SOME = 16;

interface FloodPlan {
  readonly name: string;
  readonly target?: Attack['target'];
  readonly what: string;
  readonly perSecond?: number;
  readonly counted?: string;
  readonly templates: readonly QueryTemplate[];
}

function flood({ name, target = 'dnsmasq', what, templates, ...more }: FloodPlan): Attack {
  const { perSecond: rate = QUERIES_PER_SECOND, counted } = more;
  return {
    name,
    target,
    ...(counted !== undefined && { counted }),
    summary: `${countText(rate, 'queries/s')} ${what}`,
    start: async ({ attackers, port, strength }) => {
      await attackers.flood.call('start', port, rate * strength, templates);
      return {
        finish: async () => {
          const result = await attackers.flood.call('finish');
          const did = `${countText(result.sent, 'queries')}, ${countText(result.answers, 'answers')}`;
          return { did, perSecond: result.perSecond };
        },
      };
    },
  };
}

const LARGE = [
  paddedQuery(randomNameQuery(DOMAINS.wide), READ_DATAGRAM),
  paddedQuery(randomNameQuery(DOMAINS.cluster), READ_DATAGRAM),
  paddedQuery(addressQuery(LARGE_NAME), READ_DATAGRAM),
  paddedQuery(addressQuery(HONEST_NAMES[0]!), MAX_DATAGRAM),
];

const ANY = [LARGE_NAME, ...HONEST_NAMES.slice(0, SOME)].map(anyQuery);

/** Floods over UDP. */
const FLOODS: readonly Attack[] = [
  flood({
    name: 'random-cluster',
    what: 'for random names of the cluster domain',
    templates: [randomNameQuery(DOMAINS.cluster)],
  }),
  flood({
    name: 'random-missing',
    what: 'for random names whose server answers with NXDOMAIN',
    templates: [randomNameQuery(DOMAINS.missing)],
  }),
  flood({
    name: 'random-wide',
    what: 'for random names that exist and fill the cache',
    templates: [randomNameQuery(DOMAINS.wide)],
  }),
  flood({
    name: 'random-slow',
    counted: 'overflows',
    what: 'for random names whose server takes 2 s',
    templates: [randomNameQuery(DOMAINS.slow)],
  }),
  flood({
    name: 'same-slow',
    what: 'for one name whose server takes 2 s',
    templates: [addressQuery(`one.${DOMAINS.slow}`)],
  }),
  flood({
    name: 'dead-stub',
    counted: 'overflows',
    what: 'for random names of a stub domain whose server is silent',
    templates: [randomNameQuery(DOMAINS.dead)],
  }),
  flood({
    name: 'large-edns',
    counted: 'refused messages',
    what: 'of 4 to 64 KiB that take answers of any size',
    perSecond: LARGE_PER_SECOND,
    templates: LARGE,
  }),
  flood({ name: 'any', what: 'for ANY', templates: ANY }),
  flood({
    name: 'bomb-queries',
    counted: 'refused messages',
    what: 'with pointers that loop, chain and grow, and counts that lie',
    templates: bombQueries(HONEST_NAMES[0]!),
  }),
  flood({
    name: 'bomb-replies',
    what: 'whose replies are such bombs, over UDP and TCP',
    perSecond: 1_000,
    templates: [randomNameQuery(DOMAINS.bomb)],
  }),
  flood({
    name: 'kubedns-random',
    target: 'kubedns',
    what: 'for random names of the cluster domain',
    templates: [randomNameQuery(DOMAINS.cluster)],
  }),
  flood({
    name: 'kubedns-large-edns',
    target: 'kubedns',
    what: 'of 4 to 64 KiB that take answers of any size',
    perSecond: LARGE_PER_SECOND,
    templates: LARGE.slice(1),
  }),
  flood({ name: 'kubedns-any', target: 'kubedns', what: 'for ANY', templates: ANY }),
  flood({
    name: 'kubedns-bombs',
    target: 'kubedns',
    what: 'with pointers that loop, chain and grow, and counts that lie',
    templates: bombQueries(HONEST_NAMES[0]!),
  }),
];

const MESSAGES_PER_SECOND = 5_000;
/** dnsmasq lets so many messages drop answers at once, before it lets 100 a second. */
const BURST = 100;
const FOREIGN = 'notify-foreign';
const ZONE = 'cluster.local';
/** The same names in a zone for which the attacker's address is not allowed. */
const FOREIGN_ZONE = 'foreign.example';

/** What dnsmasq is started with: it takes NOTIFY for the cluster's zone from the attacker, and for the other from no one here. */
export const NOTIFY_ARGS = [
  `--allow-notify=/${ZONE}/127.0.0.0/8`,
  `--allow-notify=/${FOREIGN_ZONE}/192.0.2.53`,
];

function template(name: string): QueryTemplate {
  const soaRdata = new Uint8Array(22);
  const message = writeNotify({
    id: 0,
    name: encodeKey(name),
    apex: encodeKey(ZONE),
    soaRdata,
    ttlSeconds: 30,
  });
  return { message };
}

function notifyFlood(
  name: string,
  counted: string,
  what: string,
  names: readonly string[],
): Attack {
  const isForeign = name === FOREIGN;
  return {
    name,
    counted,
    target: 'dnsmasq',
    summary: `${countText(MESSAGES_PER_SECOND, 'NOTIFY/s')} ${what}`,
    start: async ({ pod, attackers, port, strength }) => {
      const before = accepted(await pod.dnsmasq.metrics());
      const sinceMs = performance.now();
      const rate = MESSAGES_PER_SECOND * strength;
      await attackers.flood.call('start', port, rate, names.map(template));
      return {
        finish: async () => {
          const { sent, perSecond, answers } = await attackers.flood.call('finish');
          const drops = accepted(await pod.dnsmasq.metrics()) - before;
          const seconds = (performance.now() - sinceMs) / 1_000;
          return {
            did: `${countText(sent, 'NOTIFY')}, ${countText(answers, 'answers')}`,
            perSecond,
            dropsPerSecond: Math.max(0, drops - BURST) / seconds,
            ...(isForeign && { acceptedNotifies: drops }),
          };
        },
      };
    },
  };
}

function accepted(metrics: MetricPage): number {
  return metrics.sum('dnsmasq_notifies_total', { result: 'accepted' });
}

/** Floods of messages that may drop cached answers (RFC 1996). */
const NOTIFY_FLOODS: readonly Attack[] = [
  notifyFlood(
    'notify',
    'NOTIFY limited',
    'from an allowed address, for the zone and for what honest clients ask',
    [ZONE, ...HONEST_NAMES.slice(0, 16)],
  ),
  notifyFlood(FOREIGN, 'NOTIFY refused', 'for a zone that its address is not allowed for', [
    FOREIGN_ZONE,
    `a.${FOREIGN_ZONE}`,
  ]),
];

const GUESSES_PER_SECOND = 12_000;

/** Forged replies to questions in flight; one field of each is wrong. */
const SPOOFING: Attack = {
  name: 'spoofed-replies',
  target: 'dnsmasq',
  summary: `${countText(GUESSES_PER_SECOND, 'forged replies/s')} to questions in flight: wrong ID, port, address, name or type`,
  start: async ({ attackers, port, strength, lastWordMs }) => {
    const { spoofer } = attackers;
    await spoofer.call('start', port, DOMAINS.silent, GUESSES_PER_SECOND * strength);
    return {
      finish: async () => {
        const result = await spoofer.call('finish', lastWordMs);
        const guesses = Object.values(result.guesses).reduce((sum, count) => sum + count, 0);
        const questions = countText(result.questions, 'questions');
        return {
          did: `${countText(guesses, 'guesses')} at ${questions}, ${result.accepted} accepted`,
          perSecond: result.perSecond,
          accepted: result.accepted,
          guesses: result.questions > 0 ? guesses : 0,
        };
      },
    };
  },
};

const NAME = `the.${DOMAINS.birthday}`;
const FORGERIES_PER_SECOND = 100_000;
const QUERIES = 512;
/** Every reply that a question waits for counts, whatever it says. */
async function acceptedReplies(pod: Pod): Promise<number> {
  const metrics = await pod.dnsmasq.metrics();
  return metrics.sum('dnsmasq_upstream_server_latency_seconds_count');
}

/** One name asked for in every form there is, so that as many IDs and ports as possible can be guessed for it. */
const BIRTHDAY: Attack = {
  name: 'birthday',
  target: 'dnsmasq',
  summary: `${countText(QUERIES_PER_SECOND, 'queries/s')} for one name that differ in all else, ${countText(FORGERIES_PER_SECOND, 'forged replies/s')} with random IDs to random ports`,
  start: async ({ pod, attackers: { birthday, flood }, port, strength, lastWordMs }) => {
    const templates = Array.from({ length: QUERIES }, () => randomFormQuery(NAME));
    await birthday.call('start', port, NAME, FORGERIES_PER_SECOND * strength);
    await flood.call('start', port, QUERIES_PER_SECOND * strength, templates);
    return {
      finish: async () => {
        const { sent } = await flood.call('finish');
        const before = await acceptedReplies(pod);
        const { forged, perSecond, pairs, accepted } = await birthday.call('finish', lastWordMs);
        const inFlight = (await acceptedReplies(pod)) - before;
        const guesses = `${countText(forged, 'guesses')} at ${pairs} pairs of ID and port`;
        return {
          did: `${countText(sent, 'queries')}, ${guesses}, ${accepted} accepted`,
          perSecond,
          accepted,
          guesses: pairs > 0 ? forged : 0,
          pairs: inFlight,
        };
      },
    };
  },
};

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

function tcpAttack({ name, target, what, counted, plans }: TcpPlan): Attack {
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
const TCP_ATTACKS: readonly Attack[] = [
  ...(['dnsmasq', 'kubedns'] as const).flatMap((target) => {
    const prefix = target === 'dnsmasq' ? '' : 'kubedns-';
    return [
      tcpAttack({
        name: `${prefix}tcp-slow`,
        target,
        counted: 'TCP refused',
        what: `${countText(SLOW_CLIENTS, 'clients')} that are idle, send a byte a second, or have closed their side`,
        plans: SLOW,
      }),
      tcpAttack({
        name: `${prefix}tcp-fragments`,
        target,
        what: '250 clients that send frames of up to 64 KiB byte by byte, 10,000 bytes/s together',
        plans: FRAGMENTS,
      }),
      tcpAttack({
        name: `${prefix}tcp-deaf`,
        target,
        what: '1,000 clients that ask for 6 KiB 2,000 times and read nothing, 50 of them each second',
        plans: DEAF,
      }),
    ];
  }),
  tcpAttack({
    name: 'kubedns-subscribers',
    target: 'kubedns',
    what: '300 clients that subscribe and read nothing, 50 that send keepalives without end, and 50 that send garbage',
    plans: SUBSCRIBERS,
  }),
];

/** All attacks, in the order in which they are made. */
export const ATTACKS: readonly Attack[] = [
  ...FLOODS,
  ...NOTIFY_FLOODS,
  SPOOFING,
  BIRTHDAY,
  ...TCP_ATTACKS,
];
