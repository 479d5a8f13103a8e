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
import { beginFault, type Fault, hidesApi } from './faults.js';
import { Judge, type Violation } from './judge.js';
import type { ServiceQuestion } from './model/service-model.js';
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
    scheduler.note(JSON.stringify(fault));
    const untilUs = scheduler.nowUs + fault.for * SECOND_US;
    this.#judge.disturb(scheduler.nowUs, untilUs, hidesApi(fault) ? untilUs - scheduler.nowUs : 0);
    scheduler.at(untilUs, beginFault(fault, { cluster: this.#cluster, world: this.#world }));
  }

  #ask(): void {
    const client = this.#random.pick(this.#clients);
    const server = this.#random.chance(0.7) ? LOCAL_DNS : CLUSTER_DNS;
    const kind = this.#random.fraction();
    if (kind < 0.15) {
      const name = `www-${this.#random.below(50)}.example.com`;
      this.#send(client, server, { name, type: 'A' }, (reply) =>
        this.#judge.outside(name, server, reply, `A ${outsideAddress(name)}`),
      );
      return;
    }
    const service = kind < 0.25 ? `nothing-${this.#random.below(20)}.default` : this.#random.pick(this.#world.services); // prettier-ignore
    this.#askService(client, server, service, this.#drawQuestion());
  }

  #drawQuestion(): ServiceQuestion {
    const kind = this.#random.fraction();
    if (kind < 0.15) return { type: 'SRV', port: '_http._tcp' };
    if (kind < 0.3) return { type: 'A', host: `host-${this.#random.below(5)}` };
    return { type: kind < 0.4 ? 'AAAA' : 'A' };
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
    client.ask(server, question, done);
  }

  /** Asks every cache and every server for every name. */
  #audit(): void {
    for (const client of this.#clients) {
      const pods = this.#cluster.pods.map(({ machine }) => machine.addresses[0]!);
      for (const server of [LOCAL_DNS, ...pods]) {
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
