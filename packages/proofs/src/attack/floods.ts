import { type Attack, countText } from './attack.js';
import { bombQueries } from './bombs.js';
import { DOMAINS, HONEST_NAMES, LARGE_NAME } from './names.js';
import {
  addressQuery,
  anyQuery,
  paddedQuery,
  type QueryTemplate,
  randomNameQuery,
} from './query-template.js';

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
export const FLOODS: readonly Attack[] = [
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
