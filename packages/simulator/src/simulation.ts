import { Client, type AskedName, type Reply } from './cluster/client.js';
import {
  type Bundles,
  CLUSTER_DNS,
  type ClusterObserver,
  DOMAIN,
  LOCAL_DNS,
  SimulatedCluster,
} from './cluster/cluster.js';
import { outsideAddress } from './cluster/upstream.js';
import { World } from './cluster/world.js';
import { beginFault, type Fault, faultEffect } from './faults.js';
import { Judge, type Violation } from './judge.js';
import { reverseNameOf, type ServiceQuestion } from './model/service-model.js';
import { Random } from './random.js';
import type { Scenario } from './scenario.js';
import { NameTrace } from './trace.js';

export interface Figures {
  readonly events: number;
  readonly virtualSeconds: number;
  readonly questions: number;
  readonly changes: number;
  readonly faults: number;
}

export interface Outcome {
  readonly scenario: Scenario;
  readonly violations: readonly Violation[];
  readonly figures: Figures;
  readonly digest: string;
}

export interface SimulationOptions {
  readonly bundles: Bundles;
  /** Each line of each program, with its virtual time in microseconds. */
  readonly onLine?: (atUs: number, machine: string, program: string, line: string) => void;
  /** Draws the messages that have a name. */
  readonly trace?: { readonly name: string; readonly write: (line: string) => void };
}

const SECOND_US = 1_000_000;
/** All is started and found within this time. */
const START_US = 30 * SECOND_US;
/** After the last fault: what must come back has come back in the first part, and in the rest answers are judged as fresh. */
const CALM_US = 150 * SECOND_US;
/** Before the audit: then every cache and every server agrees with the objects. */
const QUIET_US = 5 * SECOND_US;
const AUDIT_US = 20 * SECOND_US;
/** What clients say that fits into an answer over UDP; undefined: they have no EDNS. */
const EDNS_BYTES = [undefined, 512, 1_232, 4_096] as const;
/** Within the grace period of a pod. */
const CLOSE_US = 40 * SECOND_US;

/** Runs a scenario to its end, or to its first violation. */
export async function simulate(scenario: Scenario, options: SimulationOptions): Promise<Outcome> {
  return new Simulation(scenario, options).run();
}

class Simulation {
  readonly #scenario: Scenario;
  readonly #random: Random;
  readonly #cluster: SimulatedCluster;
  readonly #world: World;
  readonly #judge: Judge;
  readonly #clients: Client[];
  #endUs = 0;

  constructor(scenario: Scenario, { bundles, onLine, trace }: SimulationOptions) {
    this.#scenario = scenario;
    const random = new Random(scenario.seed);
    this.#random = random.fork('questions');
    const observer: ClusterObserver = {
      onLine: (machine, program, line) =>
        onLine?.(this.#cluster.scheduler.nowUs, machine, program, line),
      onProgramError: (machine, program, error) =>
        this.#judge.violation('error', `${program} of ${machine}: ${error}`),
      mayEnd: () => this.#judge.isDisturbed,
    };
    this.#cluster = new SimulatedCluster(scenario, random, bundles, observer);
    if (trace !== undefined) {
      const { network, scheduler } = this.#cluster;
      network.trace = new NameTrace(trace.name, scheduler, trace.write);
    }
    this.#world = new World(this.#cluster, scenario.services);
    this.#judge = new Judge(this.#cluster.scheduler, this.#world.history);
    this.#clients = this.#cluster.nodes.map(({ machine }) => new Client(machine));
  }

  async run(): Promise<Outcome> {
    const { scheduler } = this.#cluster;
    const { faults, seconds } = this.#scenario;
    this.#cluster.start();
    this.#world.start();
    this.#judge.disturb(0, START_US, START_US);
    this.#endUs = START_US + seconds * SECOND_US;
    for (const fault of faults) {
      scheduler.at(fault.at * SECOND_US, () => this.#begin(fault));
      this.#endUs = Math.max(this.#endUs, (fault.at + fault.for) * SECOND_US);
    }
    const auditUs = this.#endUs + CALM_US;
    const { changesPerSecond, questionsPerSecond } = this.#scenario;
    this.#repeat(changesPerSecond, 2 * SECOND_US, auditUs - QUIET_US, () => this.#world.change());
    this.#repeat(questionsPerSecond, 10 * SECOND_US, auditUs, () => this.#ask());
    await this.#until(auditUs);
    if (!this.#hasEnded) {
      this.#audit();
      await this.#until(scheduler.nowUs + AUDIT_US);
    }
    if (!this.#hasEnded) await this.#close();
    return {
      scenario: this.#scenario,
      violations: this.#judge.violations,
      digest: scheduler.digest(),
      figures: {
        events: scheduler.events,
        virtualSeconds: scheduler.nowUs / SECOND_US,
        questions: this.#judge.questions,
        changes: this.#world.changes,
        faults: faults.length,
      },
    };
  }

  get #hasEnded(): boolean {
    return this.#judge.violations.length > 0;
  }

  #until(untilUs: number): Promise<void> {
    return this.#cluster.scheduler.run(untilUs, () => this.#hasEnded);
  }

  #repeat(perSecond: number, fromUs: number, untilUs: number, run: () => void): void {
    if (perSecond === 0) return;
    const { scheduler } = this.#cluster;
    const next = () => {
      if (scheduler.nowUs >= untilUs) return;
      run();
      scheduler.after(this.#random.exponential(SECOND_US / perSecond), next);
    };
    scheduler.at(fromUs, next);
  }

  #begin(fault: Fault): void {
    const { scheduler } = this.#cluster;
    const { nowUs } = scheduler;
    scheduler.note(JSON.stringify(fault));
    const untilUs = nowUs + fault.for * SECOND_US;
    const stage = { cluster: this.#cluster, world: this.#world };
    const effect = faultEffect(fault, stage);
    if (effect !== 'nothing') {
      this.#judge.disturb(nowUs, untilUs, effect === 'objects' ? untilUs - nowUs : 0);
    }
    scheduler.at(untilUs, beginFault(fault, stage));
  }

  #ask(): void {
    const client = this.#random.pick(this.#clients);
    const family = this.#random.chance(0.3) ? 1 : 0;
    const server = (this.#random.chance(0.7) ? LOCAL_DNS : CLUSTER_DNS)[family];
    const kind = this.#random.fraction();
    if (kind < 0.15) {
      const name = `www-${this.#random.below(50)}.example.com`;
      const type = this.#random.chance(0.3) ? 'AAAA' : 'A';
      const record = `${type} ${outsideAddress(name, type, 'public')}`;
      this.#send(client, server, { name, type }, (reply) =>
        this.#judge.outside(`${type} ${name} at ${server}`, record, reply),
      );
      return;
    }
    if (kind < 0.25) {
      this.#askAddress(client, server, this.#drawAddress());
      return;
    }
    const service = kind < 0.35 ? `nothing-${this.#random.below(20)}.default` : this.#random.pick(this.#world.services); // prettier-ignore
    this.#askService(client, server, service, this.#drawQuestion());
  }

  #drawQuestion(): ServiceQuestion {
    const kind = this.#random.fraction();
    if (kind < 0.15) return { type: 'SRV', port: '_http._tcp' };
    const type = this.#random.chance(0.4) ? 'AAAA' : 'A';
    return kind < 0.3 ? { type, host: `host-${this.#random.below(5)}` } : { type };
  }

  /** One of a service, or one that may be of none. */
  #drawAddress(): string {
    const state = this.#world.history.current(this.#random.pick(this.#world.services));
    const known = [...(state?.clusterIps ?? []), ...(state?.endpoints ?? []).map(({ address }) => address)]; // prettier-ignore
    return known.length > 0 ? this.#random.pick(known) : `10.245.0.${this.#random.below(250)}`;
  }

  #askAddress(client: Client, server: string, address: string): void {
    const name = reverseNameOf(address);
    this.#send(client, server, { name, type: 'PTR' }, (reply) =>
      this.#judge.reverse(address, DOMAIN, `PTR ${name} at ${server}`, reply),
    );
  }

  #askService(client: Client, server: string, service: string, question: ServiceQuestion): void {
    const { host, port, type } = question;
    const below = host ?? port;
    const name = `${below === undefined ? '' : `${below}.`}${service}.svc.${DOMAIN}`;
    this.#send(client, server, { name, type }, (reply) =>
      this.#judge.service(service, question, `${type} ${name} at ${server}`, reply),
    );
  }

  #send(client: Client, server: string, question: AskedName, done: (reply: Reply) => void): void {
    const ednsBytes = this.#random.pick(EDNS_BYTES);
    const overTcp = this.#random.chance(0.05);
    client.ask(server, { ...question, ednsBytes, overTcp }, done);
  }

  /** Asks every cache and every server for every name. */
  #audit(): void {
    for (const client of this.#clients) {
      const pods = this.#cluster.pods.flatMap(({ machine }) => machine.addresses);
      for (const server of [...LOCAL_DNS, ...pods]) {
        for (const service of this.#world.services) {
          this.#askService(client, server, service, { type: 'A' });
          this.#askService(client, server, service, { type: 'SRV', port: '_http._tcp' });
        }
      }
    }
  }

  /** Ends all programs as the kubelet does; all end by themselves, in time, with nothing left. */
  async #close(): Promise<void> {
    const hosts = [...this.#cluster.nodes, ...this.#cluster.pods];
    for (const host of hosts) for (const name of host.names) host.process(name).kill('SIGTERM');
    await this.#until(this.#cluster.scheduler.nowUs + CLOSE_US);
    for (const host of hosts) {
      for (const name of host.names) {
        if (host.process(name).isAlive) {
          this.#judge.violation('close', `${name} of ${host.machine.name} runs on after SIGTERM`);
        }
      }
    }
  }
}
