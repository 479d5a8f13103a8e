import { Client, type Reply } from './cluster/client.js';
import {
  CLUSTER_DNS,
  DOMAIN,
  type Host,
  LOCAL_DNS,
  type SimulatedCluster,
} from './cluster/cluster.js';
import { BARE_NAMESPACES, NAMESPACES, STUB_DOMAIN, type World } from './cluster/world.js';
import type { Asked, Judge } from './judge.js';
import { type AddressType, reverseNameOf, type ServiceQuestion } from './model/service-model.js';
import type { Random } from './random.js';
import type { Scheduler } from './scheduler.js';
import { linkPart, programPart, type Way } from './troubles.js';

/** A server that a client may ask, and what its answers depend on. */
interface Target {
  /** Of each family; a pod that is replaced has others then. */
  readonly addresses: () => readonly string[];
  readonly port: number;
  readonly weight: number;
  /** The process that answers now; undefined for a Service, which leads to one of several. */
  readonly process: () => object | undefined;
  /** For names of the cluster, for those of services that lead outside, and for names outside. */
  readonly inside: Way;
  readonly leadingOut: Way;
  readonly outside: Way;
}

/** One that asks, with the servers that it may ask. */
interface Asker {
  readonly client: Client;
  readonly targets: readonly Target[];
}

const DNS_PORT = 53;
const KUBEDNS_PORT = 10_053;
const OUTSIDE_NAMES = 12;
const NAMED_NAMESPACES = [...BARE_NAMESPACES, ...NAMESPACES];
/** What clients say that fits into an answer over UDP; undefined: they have no EDNS. */
const EDNS_BYTES = [undefined, 512, 1_232, 4_096] as const;
/** A change is asked about at these times after its request was sent, in microseconds: caches may take the old answer then. */
const AROUND_US = [-400, 0, 400, 1_500, 5_000, 60_000, 900_000] as const;

/** What clients ask, drawn by the seed: each answer goes to the judge. */
export class Questions {
  readonly #random: Random;
  readonly #scheduler: Scheduler;
  readonly #world: World;
  readonly #judge: Judge;
  readonly #askers: readonly Asker[];

  constructor(cluster: SimulatedCluster, world: World, judge: Judge) {
    this.#random = cluster.random.fork('questions');
    this.#world = world;
    this.#judge = judge;
    this.#askers = cluster.nodes.map((host) => ({
      client: new Client(host.machine),
      targets: targetsOf(cluster, host),
    }));
    const { scheduler } = cluster;
    this.#scheduler = scheduler;
    world.onChange = (name) => {
      for (const afterUs of AROUND_US) {
        if (this.#random.chance(0.4)) continue;
        const asker = this.#random.pick(this.#askers);
        const jitterUs = this.#random.below(400);
        scheduler.after(Math.max(0, afterUs + jitterUs), () => this.#askChanged(asker, name));
      }
    };
  }

  /** Asks for a service that changes, or for a pod in a namespace that does. */
  #askChanged(asker: Asker, name: string): void {
    const target = this.#drawTarget(asker);
    if (name.includes('.')) this.#askService(asker, target, name, this.#drawQuestion());
    else this.#askPod(asker, target, name);
  }

  /** Asks one question. */
  ask(): void {
    const asker = this.#random.pick(this.#askers);
    const target = this.#drawTarget(asker);
    const kind = this.#random.fraction();
    if (kind < 0.15) {
      const domain = this.#random.chance(0.3) ? STUB_DOMAIN : 'example.com';
      this.#askOutside(asker, target, `www-${this.#random.below(OUTSIDE_NAMES)}.${domain}`);
      return;
    }
    const service = this.#random.pick(this.#world.services);
    if (kind < 0.25) this.#askAddress(asker, target, this.#drawAddress());
    else if (kind < 0.29) this.#askEverywhere(asker, target, service.split('.')[0]!);
    else if (kind < 0.33) this.#askPod(asker, target, this.#random.pick(NAMED_NAMESPACES));
    else if (kind < 0.38) this.#askNothing(asker, target);
    else this.#askService(asker, target, service, this.#drawQuestion());
  }

  /** Asks every cache and every server for every name, within a time: no program has so many of one client at once. */
  askAll(withinUs: number): void {
    const asks: (() => void)[] = [];
    for (const asker of this.#askers) {
      for (const all of asker.targets) {
        for (const address of all.addresses()) {
          const target = { ...all, addresses: () => [address] };
          for (const service of this.#world.services) {
            asks.push(
              () => this.#askService(asker, target, service, { type: 'A' }),
              () => this.#askService(asker, target, service, { type: 'SRV', port: '_http._tcp' }),
            );
          }
        }
      }
    }
    const apartUs = withinUs / asks.length;
    for (const [at, ask] of asks.entries()) this.#scheduler.after(at * apartUs, ask);
  }

  #drawTarget({ targets }: Asker): Target {
    let at = this.#random.below(targets.reduce((sum, { weight }) => sum + weight, 0));
    return targets.find(({ weight }) => (at -= weight) < 0)!;
  }

  #drawQuestion(): ServiceQuestion {
    const kind = this.#random.fraction();
    if (kind < 0.15) return { type: 'SRV', port: '_http._tcp' };
    const type = this.#drawType();
    return kind < 0.3 ? { type, host: `host-${this.#random.below(5)}` } : { type };
  }

  #drawType(): AddressType {
    return this.#random.chance(0.4) ? 'AAAA' : 'A';
  }

  /** One of a service, or one that may be of none. */
  #drawAddress(): string {
    const state = this.#world.history.current(this.#random.pick(this.#world.services));
    const { clusterIps = [], endpoints = [] } = state?.kind === 'Namespace' ? {} : (state ?? {});
    const known = [...clusterIps, ...endpoints.map(({ address }) => address)];
    return known.length > 0 ? this.#random.pick(known) : `10.245.0.${this.#random.below(250)}`;
  }

  #askOutside(asker: Asker, target: Target, name: string): void {
    const type = this.#random.chance(0.3) ? 'AAAA' : 'A';
    this.#send(asker, target, name, type, ({ text }, reply) =>
      this.#judge.outside(name, type, { text, way: target.outside }, reply),
    );
  }

  #askAddress(asker: Asker, target: Target, address: string): void {
    this.#send(asker, target, reverseNameOf(address), 'PTR', ({ text }, reply) =>
      // What the cluster does not have is asked outside.
      this.#judge.reverse(address, { text, way: target.leadingOut }, reply),
    );
  }

  #askService(asker: Asker, target: Target, service: string, question: ServiceQuestion): void {
    const { host, port, type } = question;
    const below = host ?? port;
    const name = `${below === undefined ? '' : `${below}.`}${service}.svc.${DOMAIN}`;
    this.#send(asker, target, name, type, (by, reply) => {
      const states = this.#world.history.between(service, reply.askedUs - LEADS_OUT_US, reply.answeredUs); // prettier-ignore
      const leadsOut = states.some((state) => state?.kind === 'ExternalName');
      const way = leadsOut ? target.leadingOut : target.inside;
      this.#judge.service(service, question, { ...by, way }, reply);
    });
  }

  /** All services of a name. */
  #askEverywhere(asker: Asker, target: Target, service: string): void {
    const type = this.#drawType();
    this.#send(asker, target, `${service}.*.svc.${DOMAIN}`, type, ({ text }, reply) => {
      const asked = { text, way: target.leadingOut };
      this.#judge.everywhere(service, NAMESPACES, type, asked, reply);
    });
  }

  /** The name of a pod, in a namespace that may exist. */
  #askPod(asker: Asker, target: Target, namespace: string): void {
    const type = this.#drawType();
    const address = `10.245.0.${this.#random.below(250)}`;
    const name = `${address.replaceAll('.', '-')}.${namespace}.pod.${DOMAIN}`;
    this.#send(asker, target, name, type, ({ text }, reply) =>
      this.#judge.pod(namespace, address, type, { text, way: target.inside }, reply),
    );
  }

  /** A name that never is: of no service, or what a search path makes of a name outside. */
  #askNothing(asker: Asker, target: Target): void {
    const at = this.#random.below(20);
    const start = this.#random.pick([`nothing-${at}.default`, `www-${at}.example.com.shop`]);
    this.#send(asker, target, `${start}.svc.${DOMAIN}`, this.#drawType(), ({ text }, reply) =>
      this.#judge.absent({ text, way: target.inside }, reply),
    );
  }

  #send(
    { client }: Asker,
    { addresses, port, process }: Target,
    name: string,
    type: string,
    done: (asked: Omit<Asked, 'way'>, reply: Reply) => void,
  ): void {
    const address = addresses().at(this.#random.chance(0.3) ? -1 : 0)!;
    const ednsBytes = this.#random.pick(EDNS_BYTES);
    const overTcp = this.#random.chance(0.06);
    const isDnssecOk = this.#random.chance(0.05);
    const text = `${type} ${name} at ${address}${port === DNS_PORT ? '' : `#${port}`}${overTcp ? ' over TCP' : ''}`; // prettier-ignore
    const asked = process();
    client.ask({ address, port }, { name, type, ednsBytes, overTcp, isDnssecOk }, (reply) => {
      // A cache has no answers with signatures. One that has started meanwhile may be the one that answered.
      const isKnown = process() === asked && !isDnssecOk;
      done({ text, process: isKnown ? asked : undefined }, reply);
    });
  }
}

/** An answer that leads outside may be as old as what went wrong. */
const LEADS_OUT_US = 600_000_000;

/** The servers that a client of a node may ask: its cache, the Service, and each program of each pod itself. */
function targetsOf({ pods, upstreams, api }: SimulatedCluster, host: Host): Target[] {
  const node = host.machine.name;
  const [apiName, ...upstreamNames] = [api, ...upstreams].map(({ name }) => name);
  const outsideOf = (asker: string) =>
    upstreamNames.flatMap((name) => [linkPart(name, asker), programPart(name, 'name-server')]);
  const partsOf = (hosts: typeof pods) => {
    const names = hosts.map(({ name }) => name);
    const kubedns = names.flatMap((pod) => [
      linkPart(node, pod),
      linkPart(apiName!, pod),
      programPart(apiName!, 'apiserver'),
      programPart(pod, 'kubedns'),
    ]);
    const dnsmasq = [...kubedns, ...names.map((pod) => programPart(pod, 'dnsmasq'))];
    return { kubedns, dnsmasq, outside: names.flatMap(outsideOf) };
  };
  const target = (
    { addresses, port, weight, process }: Pick<Target, 'addresses' | 'port' | 'weight' | 'process'>,
    caches: number,
    inside: readonly string[],
    leadingOut: readonly string[],
    outside = [...inside, ...leadingOut],
  ): Target => ({
    addresses,
    port,
    weight,
    process,
    inside: { parts: new Set(inside), caches },
    leadingOut: { parts: new Set([...inside, ...leadingOut]), caches },
    outside: { parts: new Set(outside), caches },
  });
  const all = partsOf(pods);
  const cache = programPart(node, 'node-cache');
  const [local, service] = [LOCAL_DNS, CLUSTER_DNS].map((addresses, at) => ({ addresses: () => addresses, port: DNS_PORT, weight: [50, 20][at]! * pods.length, process: () => at === 0 ? processOf(host, 'node-cache') : undefined })); // prettier-ignore
  return [
    target(local!, 2, [...all.dnsmasq, cache], all.outside, [cache, ...outsideOf(node)]),
    target(service!, 1, all.dnsmasq, all.outside),
    ...pods.flatMap((pod, at) => {
      const { kubedns, dnsmasq, outside } = partsOf([pod]);
      const addresses = () => pods[at]!.machine.addresses;
      return [
        target({ addresses, port: DNS_PORT, weight: 15, process: () => processOf(pods[at]!, 'dnsmasq') }, 1, dnsmasq, outside), // prettier-ignore
        target({ addresses, port: KUBEDNS_PORT, weight: 15, process: () => processOf(pods[at]!, 'kubedns') }, 0, kubedns, outside), // prettier-ignore
      ];
    }),
  ];
}

/** Undefined before its start. */
function processOf(host: Host, program: string): object | undefined {
  return host.names.includes(program) ? host.process(program) : undefined;
}
