import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Closable, isAlive, messageOf, until } from '@kube-dns/testkit';

const ROOT = '/sys/fs/cgroup';
const PERIOD_US = 100_000;
/** Version 2 has one tree, and this file in its root; version 1 has a tree for each controller. */
const IS_VERSION_2 = existsSync(join(ROOT, 'cgroup.controllers'));

let created = 0;

/** What a group is for. */
export type Controller = 'cpu' | 'memory';

/** What the processes of a group take, in bytes. */
export interface GroupMemory {
  /** What belongs to no file. */
  readonly anonymous: number;
  /** Everything that is charged to the group: with pages of files that it was the first to touch. */
  readonly current: number;
  /** The most that this was; NaN where the kernel does not count it (version 2 before Linux 5.19). */
  readonly peak: number;
}

/** A control group of our own, as kubelet makes one of a container's limits; versions 1 and 2. */
export class ControlGroup implements Closable {
  readonly #path: string;
  readonly #pids: number[] = [];

  private constructor(path: string) {
    this.#path = path;
  }

  /** An empty group; the reason where this process may not make one. */
  static create(name: string, controller: Controller): ControlGroup | string {
    const own = `${name}-${process.pid}-${created++}`;
    const path = join(ROOT, IS_VERSION_2 ? '' : controller, own);
    try {
      if (IS_VERSION_2) writeFileSync(join(ROOT, 'cgroup.subtree_control'), `+${controller}`);
      mkdirSync(path);
      return new ControlGroup(path);
    } catch (error) {
      return messageOf(error);
    }
  }

  /** The words in front of a command that is to run in here from its first instruction on. */
  get entrance(): readonly string[] {
    return ['sh', '-c', `echo $$ >${this.#file('cgroup.procs')}; exec "$@"`, 'sh'];
  }

  /** Takes in a process with all its threads. */
  add(pid: number): void {
    this.#write('cgroup.procs', `${pid}`);
    this.watch(pid);
  }

  /** Waits in `close` for the end of a process that came in by `entrance`. */
  watch(pid: number): void {
    this.#pids.push(pid);
  }

  /** From now on its processes have this many thousandths of a CPU together; undefined: as many as there are. */
  limitCpu(milliCpus: number | undefined): void {
    const quotaUs = milliCpus === undefined ? undefined : (milliCpus * PERIOD_US) / 1_000;
    if (IS_VERSION_2) this.#write('cpu.max', `${quotaUs ?? 'max'} ${PERIOD_US}`);
    else {
      this.#write('cpu.cfs_period_us', `${PERIOD_US}`);
      this.#write('cpu.cfs_quota_us', `${quotaUs ?? -1}`);
    }
  }

  memory(): GroupMemory {
    const [stat, current, peak] = IS_VERSION_2
      ? ['anon', 'memory.current', 'memory.peak']
      : ['rss', 'memory.usage_in_bytes', 'memory.max_usage_in_bytes'];
    const anonymous = new RegExp(`^${stat} (\\d+)$`, 'm').exec(this.#read('memory.stat'))?.[1];
    return {
      anonymous: Number(anonymous ?? Number.NaN),
      current: Number(this.#read(current)),
      peak: existsSync(this.#file(peak)) ? Number(this.#read(peak)) : Number.NaN,
    };
  }

  /** Removes the group; its processes must end. */
  async close(): Promise<void> {
    await until('the end of the processes of a group', () => !this.#pids.some(isAlive));
    rmdirSync(this.#path);
  }

  #file(name: string): string {
    return join(this.#path, name);
  }

  #read(name: string): string {
    return readFileSync(this.#file(name), 'utf8');
  }

  #write(name: string, text: string): void {
    writeFileSync(this.#file(name), text);
  }
}
