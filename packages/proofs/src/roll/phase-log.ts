import { monotonicMs, type Remote } from '@kube-dns/testkit';
import type { AnswerFigures } from '../soak/answer-log.js';
import type { CheckingClientMethods } from '../soak/checking-client.js';
import type { BalancerMethods } from './balancer.js';
import type { DnsperfClient } from './dnsperf-client.js';

/** What became of the questions while one thing happened. */
export interface Phase {
  readonly name: string;
  readonly seconds: number;
  /** Of dnsperf: answered, or given up at the first try. */
  readonly queriesPerSecond: number;
  readonly dnsperf: AnswerFigures;
  readonly checked: AnswerFigures;
  /** Flows that the balancer had to give to another pod. */
  readonly cutFlows: number;
}

/** The sources of the figures of a phase. */
export interface PhaseSources {
  readonly dnsperf: DnsperfClient;
  readonly checked: Remote<CheckingClientMethods>;
  readonly balancer: Remote<BalancerMethods>;
}

/** Records what clients noticed in each phase. */
export class PhaseLog {
  readonly phases: Phase[] = [];
  readonly #from: PhaseSources;
  #startMs = monotonicMs();
  #cutFlows = 0;

  constructor(from: PhaseSources) {
    this.#from = from;
  }

  /** Ends a phase; the next begins. Throws a MeasureError when dnsperf is gone. */
  async end(name: string): Promise<Phase> {
    const { dnsperf: client, checked: asker, balancer } = this.#from;
    client.check();
    const checked = await asker.call('take');
    const { cutFlows } = await balancer.call('figures');
    const dnsperf = client.take();
    const nowMs = monotonicMs();
    const seconds = (nowMs - this.#startMs) / 1_000;
    const phase = {
      name,
      seconds,
      queriesPerSecond: dnsperf.asked / seconds,
      dnsperf,
      checked,
      cutFlows: cutFlows - this.#cutFlows,
    };
    this.#startMs = nowMs;
    this.#cutFlows = cutFlows;
    this.phases.push(phase);
    return phase;
  }
}
