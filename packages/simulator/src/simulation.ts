import { type ClusterObserver, type Releases, SimulatedCluster } from './cluster/cluster.js';
import { World } from './cluster/world.js';
import { beginFault, type Fault, faultEffect, isOfApi, isStop, touchedBy } from './faults.js';
import { Judge, type Violation } from './judge.js';
import { Questions } from './questions.js';
import { Random } from './random.js';
import type { Scenario } from './scenario.js';
import { Monitor } from './monitor.js';
import { NameTrace } from './trace.js';
import { EVERYTHING, Troubles } from './troubles.js';

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
  readonly releases: Releases;
  /** Each line of each program, with its virtual time in microseconds. */
  readonly onLine?: (atUs: number, machine: string, program: string, line: string) => void;
  /** Draws the messages that have a name. */
  readonly trace?: { readonly name: string; readonly write: (line: string) => void };
}

const SECOND_US = 1_000_000;
/** All is started and found within this time, also what starts late. */
const START_US = 60 * SECOND_US;
/** After a fault: probes, back-offs and subscriptions have come back. */
const RECOVERY_US = 15 * SECOND_US;
/** After the last recovery: answers are judged as fresh once more. */
const CALM_US = 40 * SECOND_US;
/** Before the audit: then every cache and every server agrees with the objects. */
const QUIET_US = 5 * SECOND_US;
const AUDIT_US = 20 * SECOND_US;
/** For pages to be answered. */
const REST_US = SECOND_US;
/** Within the grace period of a pod. */
const CLOSE_US = 40 * SECOND_US;

/** Runs a scenario to its end, or to its first violation. */
export async function simulate(scenario: Scenario, options: SimulationOptions): Promise<Outcome> {
  return new Simulation(scenario, options).run();
}

class Simulation {
  readonly #scenario: Scenario;
  readonly #times: Random;
  readonly #cluster: SimulatedCluster;
  readonly #world: World;
  readonly #troubles = new Troubles();
  readonly #judge: Judge;
  readonly #questions: Questions;
  readonly #monitor: Monitor;
  readonly #trace: NameTrace | undefined;

  constructor(scenario: Scenario, { releases, onLine, trace }: SimulationOptions) {
    this.#scenario = scenario;
    const random = new Random(scenario.seed);
    this.#times = random.fork('times');
    const observer: ClusterObserver = {
      onLine: (machine, program, line) => {
        onLine?.(this.#cluster.scheduler.nowUs, machine, program, line);
        this.#monitor.onLine(machine, program, line);
      },
      onProgramError: (machine, program, error) =>
        this.#judge.violation('error', `${program} of ${machine}: ${error}`),
      mayEnd: () => this.#troubles.isAnyAt(this.#cluster.scheduler.nowUs),
    };
    this.#cluster = new SimulatedCluster(scenario, random, releases, observer);
    const { network, scheduler } = this.#cluster;
    this.#trace = trace && new NameTrace(trace.name, scheduler, trace.write);
    network.trace = this.#trace;
    this.#world = new World(this.#cluster, scenario.services);
    this.#judge = new Judge(this.#cluster.scheduler, this.#world, this.#troubles);
    this.#questions = new Questions(this.#cluster, this.#world, this.#judge);
    this.#monitor = new Monitor(this.#cluster, this.#judge, this.#troubles);
  }

  async run(): Promise<Outcome> {
    const { scheduler } = this.#cluster;
    const { faults, seconds } = this.#scenario;
    this.#cluster.start(this.#scenario.late);
    this.#world.start();
    this.#monitor.start(START_US);
    this.#troubles.add({
      fromUs: 0,
      overUs: 0,
      untilUs: START_US,
      parts: [EVERYTHING],
      hidesApi: true,
      isOfApi: false,
      isStop: false,
    });
    let calmUs = START_US + seconds * SECOND_US;
    for (const fault of faults) {
      scheduler.at(fault.at * SECOND_US, () => this.#begin(fault));
      calmUs = Math.max(calmUs, recoveredUs(fault));
    }
    for (const sign of this.#scenario.signs ?? []) {
      scheduler.at(sign.at * SECOND_US, () => this.#monitor.expect(sign));
    }
    const auditUs = calmUs + CALM_US;
    const { changesPerSecond, questionsPerSecond, bulksPerMinute } = this.#scenario;
    this.#repeat(bulksPerMinute / 60, START_US, calmUs, () => this.#world.changeMany());
    this.#repeat(changesPerSecond, 2 * SECOND_US, auditUs - QUIET_US, () => this.#world.change());
    this.#repeat(questionsPerSecond, 10 * SECOND_US, auditUs, () => this.#questions.ask());
    await this.#until(auditUs);
    if (!this.#hasEnded) {
      this.#monitor.beginAudit();
      this.#questions.askAll(AUDIT_US / 4);
      await this.#until(scheduler.nowUs + AUDIT_US);
      this.#monitor.lookAtRest();
      await this.#until(scheduler.nowUs + REST_US);
    }
    if (!this.#hasEnded) await this.#close();
    const { reasons } = this.#scenario;
    if (!this.#hasEnded && reasons !== undefined) this.#judge.expectReasons(reasons);
    this.#trace?.end();
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
      scheduler.after(this.#times.exponential(SECOND_US / perSecond), next);
    };
    scheduler.at(fromUs, next);
  }

  #begin(fault: Fault): void {
    const { scheduler } = this.#cluster;
    scheduler.note(JSON.stringify(fault));
    const stage = { cluster: this.#cluster, world: this.#world };
    const effect = faultEffect(fault, stage);
    if (effect !== 'nothing') {
      this.#troubles.add({
        fromUs: scheduler.nowUs,
        overUs: scheduler.nowUs + fault.for * SECOND_US,
        untilUs: recoveredUs(fault),
        parts: touchedBy(fault),
        hidesApi: effect === 'objects',
        isOfApi: isOfApi(fault),
        isStop: isStop(fault),
      });
    }
    const untilUs = scheduler.nowUs + fault.for * SECOND_US;
    scheduler.at(untilUs, beginFault(fault, stage));
  }

  /** Ends all programs as the kubelet does; all end by themselves, in time, with nothing left. */
  async #close(): Promise<void> {
    this.#monitor.stop();
    const hosts = [...this.#cluster.nodes, ...this.#cluster.pods];
    for (const host of hosts) for (const name of host.names) host.process(name).kill('SIGTERM');
    await this.#until(this.#cluster.scheduler.nowUs + CLOSE_US);
    for (const host of hosts) {
      for (const name of host.names) {
        const process = host.process(name);
        if (process.isAlive)
          this.#judge.violation('close', `${name} of ${host.machine.name} runs on after SIGTERM`); // prettier-ignore
        else this.#monitor.onEnd(host, process);
      }
    }
  }
}

/** What TCP could not deliver is sent again after twice the time of the try before: no later than as long again. */
function recoveredUs(fault: Fault): number {
  if (fault.back !== undefined) return (fault.at + fault.for + fault.back) * SECOND_US;
  return (fault.at + 2 * fault.for) * SECOND_US + RECOVERY_US;
}
