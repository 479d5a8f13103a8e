import {
  type MetricPage,
  type Owned,
  type ProgramValues,
  Remote,
  type RunningProgram,
} from '@kube-dns/testkit';
import { type ApiServerMethods, HEADLESS_SERVICE, serviceName } from '../fixtures/api-server.js';
import { ManifestPod, memoryLimit, SOURCE_PORTS } from '../fixtures/pod-containers.js';
import type { BirthdayMethods } from './birthday-server.js';
import type { FloodMethods } from './flood.js';
import type { SpooferMethods } from './spoofer.js';
import type { TcpAttackerMethods } from './tcp-attacker.js';

/** The cluster's services, all asked for by honest clients: fewer than dnsmasq caches. */
const SERVICES = 200;
/** Of the headless service: its addresses make an answer of 6 KiB. */
const PODS = 400;

const SERVICE_ZONE = 'svc.cluster.local';

/** What honest clients ask for: each is in dnsmasq's cache once it was asked for. */
export const HONEST_NAMES: readonly string[] = Array.from(
  { length: SERVICES },
  (_, i) => `${serviceName(i)}.default.${SERVICE_ZONE}`,
);

export const LARGE_NAME = `${HEADLESS_SERVICE}.default.${SERVICE_ZONE}`;

/** The domains of the attackers' questions; the name of each describes its server. */
export const DOMAINS = {
  cluster: `default.${SERVICE_ZONE}`,
  /** No name of it exists. */
  missing: 'missing.example',
  /** Every name of it has a cacheable address. */
  wide: 'wide.example',
  /** Its answers take two seconds. */
  slow: 'slow.example',
  /** Its answers are malformed, or as large and as nested as an answer can be. */
  bomb: 'bomb.example',
  /** A stub domain whose server never answers. */
  dead: 'dead.example',
  /** A stub domain whose server never answers, and in whose name others do. */
  silent: 'silent.example',
  /** Its server leaves one name unanswered, and forged replies for it come with random IDs to random ports. */
  birthday: 'birthday.example',
} as const;

/** One of the containers of a pod that runs. */
export interface Container {
  readonly name: 'dnsmasq' | 'kubedns';
  readonly server: RunningProgram;
  /** For DNS, UDP and TCP, on 127.0.0.1. */
  readonly port: number;
  /** What the manifests let it have. */
  readonly memoryLimitBytes: number;
  metrics(): Promise<MetricPage>;
}

/** The containers that are attacked. */
export type Pod = Readonly<Record<Container['name'], Container>>;

/** Starts dnsmasq and kubedns of the manifest, and a cluster behind them; resolves when they answer. */
export async function startPod(
  owned: Owned,
  values: ProgramValues,
  dnsmasqArgs: readonly string[],
): Promise<Pod> {
  const entry = new URL('../fixtures/api-server.js#ApiServerProgram', import.meta.url);
  const api = owned.add(new Remote<ApiServerMethods>('the API server', entry));
  const pod = owned.add(
    await ManifestPod.start({
      node: values.node,
      nodeFlags: values['node-flags'],
      apiUrl: await api.call('start', SERVICES, PODS),
      hasNoSidecar: true,
      dnsmasqArgs: [SOURCE_PORTS, ...dnsmasqArgs],
    }),
  );
  await pod.ready();
  return { dnsmasq: container('dnsmasq', pod), kubedns: container('kubedns', pod) };
}

function container(name: Container['name'], pod: ManifestPod): Container {
  const { server, ports } = pod[name];
  const metrics = () => pod[name].metrics();
  return { name, server, port: ports.dns, memoryLimitBytes: memoryLimit(name).bytes, metrics };
}

/** The attacking processes. */
export interface Attackers {
  readonly flood: Remote<FloodMethods>;
  readonly tcp: Remote<TcpAttackerMethods>;
  readonly spoofer: Remote<SpooferMethods>;
  readonly birthday: Remote<BirthdayMethods>;
}

/** Where an attack takes place. */
export interface Field {
  readonly pod: Pod;
  readonly attackers: Attackers;
  /** The port of the container that is attacked. */
  readonly port: number;
  /** What the rates of all attacks are multiplied by. */
  readonly strength: number;
  /** How long a spoofer waits for the last answers. */
  readonly lastWordMs: number;
}

/** What an attack did. */
export interface AttackResult {
  /** What it did and how often, for example `52,000 queries`. */
  readonly did: string;
  /** Of that, each second. */
  readonly perSecond: number;
  /** Forged replies that were accepted; undefined where it forged none. */
  readonly accepted?: number;
  /** How many forged replies there were. */
  readonly guesses?: number;
  /** Pairs of ID and port that a reply could have at one time, the most of them; undefined where they are not counted. */
  readonly pairs?: number;
  /** Messages a second that dropped cached answers, after those that may at once; undefined where there are none. */
  readonly dropsPerSecond?: number;
  /** Accepted NOTIFY of an address that may send none; undefined where it may. */
  readonly acceptedNotifies?: number;
}

/** An attack that goes on. */
interface RunningAttack {
  /** Ends it. */
  finish(): Promise<AttackResult>;
}

/** One kind of attack on one container. */
export interface Attack {
  readonly name: string;
  /** What the attackers do, at what rate when the strength is 1. */
  readonly summary: string;
  readonly target: 'dnsmasq' | 'kubedns';
  /** What the container counts of it, as `CounterChange` names it; nothing of its own unless given. */
  readonly counted?: string;
  start(field: Field): Promise<RunningAttack>;
}

/** A count with digits in groups, and what was counted. */
export function countText(count: number, what: string): string {
  return `${count.toLocaleString('en-US')} ${what}`;
}
