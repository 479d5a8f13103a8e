import { addressBytes, reverseName } from '@kube-dns/wire';
import { answerText, recordText } from '../soak/answer-text.js';
import { dnsName } from '../soak/question.js';
import { bareNamespace, poolAddress, poolIpv6, type Slot, type World } from './world.js';

/** A question, and its right answer in a world. */
export interface OracleQuestion {
  readonly name: string;
  readonly type: 'A' | 'AAAA' | 'PTR' | 'SRV';
  readonly expected: (world: World) => string;
}

/** Whether an answer denies a name or a type, which has a TTL of its own. */
export function isNegative(text: string): boolean {
  return text === NXDOMAIN || text === NODATA || text.startsWith('NXDOMAIN |');
}

/**
 * An answer that says of a name only that it exists, where its cache has other answers of it: dnsmasq makes it of
 * NXDOMAIN, and so does 2.90.
 */
export function isMere(text: string): boolean {
  return text === NODATA || /^NOERROR( \| \S+ cname \S+)+$/.test(text);
}

type Below = (limit: number) => number;
type AddressType = 'A' | 'AAAA';

const NXDOMAIN = answerText('NXDOMAIN', []);
const NODATA = answerText('NOERROR', []);
const POD = ['10-1-2-3', '10.1.2.3'] as const;
const POOL = 120;
const BARE = 6;

/** Parts of a hundred questions; the sum is 100. */
const MIX: readonly (readonly [number, (below: Below, world: World) => OracleQuestion])[] = [
  [40, (below, world) => askService(below, world)],
  [10, (below, world) => askPort(below(world.slots.length), world)],
  [10, (below, world) => askHost(below(world.slots.length), world)],
  [15, (below) => askReverse(below)],
  [8, (below, world) => askEverywhere(below(world.slots.length), world)],
  [7, (below) => askNamespace(below(BARE))],
  [10, (below) => askNothing(`www${below(50)}.example.com.shop.svc.cluster.local`)],
];

/** A random question about what is in a world, or was. */
export function randomQuestion(below: Below, world: World): OracleQuestion {
  let dice = below(100);
  const [, make] = MIX.find(([part]) => (dice -= part) < 0)!;
  const question = make(below, world);
  // Letters in both cases are the same name.
  return below(10) === 0 ? { ...question, name: question.name.toUpperCase() } : question;
}

function askService(below: Below, { slots }: World): OracleQuestion {
  const at = below(slots.length);
  const type = below(4) === 0 ? 'AAAA' : 'A';
  const name = dnsName(slots[at]!);
  return { name, type, expected: (world) => addressText(name, type, world.slots[at]!, world) };
}

function addressText(name: string, type: AddressType, slot: Slot, world: World): string {
  if (slot.kind !== 'alias' || !slot.isThere)
    return answerOf(slot, (own) => records(name, type, own));
  const cname = recordText(name, 'CNAME', slot.target);
  const target = world.slots.find((each) => dnsName(each) === slot.target)!;
  if (!target.isThere) return answerText('NXDOMAIN', [cname]);
  return answerText('NOERROR', [cname, ...records(slot.target, type, target)]);
}

/** NXDOMAIN where there is no service, or a headless one without endpoints. */
function answerOf(slot: Slot, find: (slot: Slot) => readonly string[] | undefined): string {
  const { isThere, kind, ready } = slot;
  if (!isThere || (kind === 'headless' && ready.length === 0)) return NXDOMAIN;
  const found = find(slot);
  return found === undefined ? NXDOMAIN : answerText('NOERROR', found);
}

function records(name: string, type: AddressType, slot: Slot): string[] {
  const { kind, clusterIP, ipv6, ready } = slot;
  const own = ipv6 === undefined ? [clusterIP] : [clusterIP, ipv6];
  const addresses = kind === 'headless' ? ready.map(({ address }) => address) : own;
  return addresses
    .filter((address) => address.includes(':') === (type === 'AAAA'))
    .map((address) => recordText(name, type, address));
}

function askPort(at: number, { slots }: World): OracleQuestion {
  const service = dnsName(slots[at]!);
  const name = `_web._tcp.${service}`;
  const expected = ({ slots: now }: World) =>
    answerOf(now[at]!, ({ kind, portName, port, ready }) => {
      // The port of the slice stays when its service turns.
      if (kind === 'alias' || portName !== 'web') return undefined;
      const hosts = ready.map(({ hostname }) => `${hostname}.${service}`);
      const targets = kind === 'headless' ? hosts : [service];
      return targets.map((target) => recordText(name, 'SRV', `${port} ${target}`));
    });
  return { name, type: 'SRV', expected };
}

function askHost(at: number, { slots }: World): OracleQuestion {
  const name = `h0.${dnsName(slots[at]!)}`;
  const expected = ({ slots: now }: World) =>
    answerOf(now[at]!, ({ kind, ready }) => {
      const host = kind === 'headless' && ready.find(({ hostname }) => hostname === 'h0');
      return host ? [recordText(name, 'A', host.address)] : undefined;
    });
  return { name, type: 'A', expected };
}

function askReverse(below: Below): OracleQuestion {
  const kind = (['address', 'endpoints', 'turning'] as const)[below(3)]!;
  const isIpv6 = kind === 'address' && below(2) === 0;
  const address = isIpv6 ? poolIpv6(below(POOL / 2)) : poolAddress(kind, below(POOL));
  const name = reverseName(addressBytes(address));
  const expected = ({ slots }: World) => {
    const names = slots.flatMap((slot) => namesOf(slot, address));
    if (names.length === 0) return NXDOMAIN;
    return answerText(
      'NOERROR',
      names.map((each) => recordText(name, 'PTR', each)),
    );
  };
  return { name, type: 'PTR', expected };
}

function namesOf(slot: Slot, address: string): string[] {
  const { kind, isThere, clusterIP, ipv6, ready } = slot;
  if (!isThere || kind === 'alias') return [];
  if (kind === 'address') return [clusterIP, ipv6].includes(address) ? [dnsName(slot)] : [];
  return ready
    .filter((endpoint) => endpoint.address === address)
    .map(({ hostname }) => `${hostname}.${dnsName(slot)}`);
}

/** The services of one name in all namespaces. */
function askEverywhere(at: number, { slots }: World): OracleQuestion {
  const { slot, name: service } = slots[at]!;
  if (slot === 'alias') return askNothing(`*.${service}.nowhere.svc.cluster.local`);
  const name = `${service}.*.svc.cluster.local`;
  const expected = ({ slots: now }: World) => {
    const found = now.filter(
      ({ name: own, isThere, kind, ready }) =>
        own === service && isThere && (kind !== 'headless' || ready.length > 0),
    );
    if (found.length === 0) return NXDOMAIN;
    const all = found.flatMap((each) => records(name, 'A', each));
    return answerText('NOERROR', [...new Set(all)]);
  };
  return { name, type: 'A', expected };
}

/** A namespace without services, or the name of a pod there. */
function askNamespace(number: number): OracleQuestion {
  const [label, address] = POD;
  const name = `${label}.${bareNamespace(number)}.pod.cluster.local`;
  const expected = ({ bare }: World) =>
    bare[number] === true ? answerText('NOERROR', [recordText(name, 'A', address)]) : NXDOMAIN;
  return { name, type: 'A', expected };
}

function askNothing(name: string): OracleQuestion {
  return { name, type: 'A', expected: () => NXDOMAIN };
}
