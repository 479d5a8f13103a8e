/** The changes of the cluster and its configuration, and their times: fixed before the run. */
export interface SchedulePlan {
  /** The moment of the first change, on the monotonic clock. */
  readonly startMs: number;
  /** Changes of services each second; 0: nothing changes. */
  readonly changesPerSecond: number;
  /** Services that change, each in its turn. */
  readonly churned: number;
  /** Services that never change. */
  readonly settled: number;
  /** The time between two configurations; 0: there is only the first. */
  readonly configMs: number;
}

/** One change: the service gets this version. */
export interface Change {
  readonly service: number;
  readonly version: number;
}

/**
 * A timetable that is a function of the time alone: the process that changes the cluster and the one that
 * judges the answers need no messages between them. Change k is due `k / changesPerSecond` after the start, and
 * is that of service `k mod churned`. Services and configuration begin with version 0.
 */
export class Schedule {
  readonly plan: SchedulePlan;

  constructor(plan: SchedulePlan) {
    this.plan = plan;
  }

  /** How many changes are due at a moment. */
  changesDue(atMs: number): number {
    const { startMs, changesPerSecond } = this.plan;
    if (atMs < startMs || changesPerSecond === 0) return 0;
    return Math.floor(((atMs - startMs) * changesPerSecond) / 1_000) + 1;
  }

  change(index: number): Change {
    const { churned } = this.plan;
    return { service: index % churned, version: Math.floor(index / churned) + 1 };
  }

  /** When a change is due. */
  dueMs(index: number): number {
    return this.plan.startMs + (index * 1_000) / this.plan.changesPerSecond;
  }

  /** The version that a churned service has at a moment. */
  serviceVersion(service: number, atMs: number): number {
    const due = this.changesDue(atMs);
    return due <= service ? 0 : Math.floor((due - 1 - service) / this.plan.churned) + 1;
  }

  /** The version of the configuration at a moment; version n is due n intervals after the start. */
  configVersion(atMs: number): number {
    const { startMs, configMs } = this.plan;
    return configMs === 0 || atMs < startMs ? 0 : Math.floor((atMs - startMs) / configMs);
  }
}
