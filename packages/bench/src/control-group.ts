import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorText } from '@kube-dns/base';
import { type Closable, until } from '@kube-dns/testkit';

/** As kubelet has it. */
const PERIOD_US = 100_000;
/** The most that there is: `cpu.weight` of version 2, `cpu.shares` of version 1. */
const MAX_WEIGHT = 10_000;
const MAX_SHARES = 262_144;

let created = 0;

/** Where the kernel shows control groups and processes; tests have other folders. */
export interface ControlGroupFiles {
  readonly groups: string;
  readonly processes: string;
}

const FILES: ControlGroupFiles = { groups: '/sys/fs/cgroup', processes: '/proc' };

/** Version 2 has one tree, and this file in its root; version 1 has a tree for each controller. */
function isVersion2({ groups }: ControlGroupFiles): boolean {
  return existsSync(join(groups, 'cgroup.controllers'));
}

/** What a group is for. */
type Controller = 'cpu' | 'memory';

/** What the processes of a group take, in bytes. */
export interface GroupMemory {
  /** What belongs to no file. */
  readonly anonymous: number;
  /** Everything that is charged to the group: with pages of files that it was the first to touch. */
  readonly current: number;
  /** The most that this was; NaN where the kernel does not count it (version 2 before Linux 5.19). */
  readonly peak: number;
}

/** A control group, as kubelet makes one of a container's limits; versions 1 and 2. */
export class ControlGroup implements Closable {
  readonly #path: string;
  readonly #isVersion2: boolean;

  private constructor(path: string, files: ControlGroupFiles) {
    this.#path = path;
    this.#isVersion2 = isVersion2(files);
  }

  /** An empty group of our own; the reason where this process may not make one. */
  static create(name: string, controller: Controller, files = FILES): ControlGroup | string {
    const own = `${name}-${process.pid}-${created++}`;
    const { groups } = files;
    const path = join(groups, isVersion2(files) ? '' : controller, own);
    try {
      if (isVersion2(files))
        writeFileSync(join(groups, 'cgroup.subtree_control'), `+${controller}`);
      mkdirSync(path);
      return new ControlGroup(path, files);
    } catch (error) {
      return errorText(error);
    }
  }

  /** The group of a process, which is not to be closed. */
  static of(pid: number, controller: Controller, files = FILES): ControlGroup {
    const { groups, processes } = files;
    const text = readFileSync(join(processes, String(pid), 'cgroup'), 'utf8');
    // `NUMBER:CONTROLLER,…:PATH`, and `0::PATH` for version 2 (proc_pid_cgroup(5)).
    const lines = text.split('\n').map((line) => /^\d+:([^:]*):(.*)$/.exec(line));
    const wanted = isVersion2(files) ? '' : controller;
    const path = lines.find((line) => line?.[1]?.split(',').includes(wanted))?.[2] ?? '/';
    return new ControlGroup(join(groups, wanted, path), files);
  }

  /** The words in front of a command that is to run in here from its first instruction on. */
  get entrance(): readonly string[] {
    return ['sh', '-c', `echo $$ >${this.#file('cgroup.procs')}; exec "$@"`, 'sh'];
  }

  /** Takes in a process with all its threads; those that it starts are in here, too. */
  add(pid: number): void {
    this.#write('cgroup.procs', `${pid}`);
  }

  /** From now on its processes have a core before those of other groups, as far as a weight can do that. */
  raiseWeight(): void {
    if (this.#isVersion2) this.#write('cpu.weight', `${MAX_WEIGHT}`);
    else this.#write('cpu.shares', `${MAX_SHARES}`);
  }

  /** From now on its processes have this many thousandths of a CPU together, in each period; undefined: as many as there are. */
  limitCpu(milliCpus: number | undefined, periodUs = PERIOD_US): void {
    const quotaUs = milliCpus === undefined ? undefined : (milliCpus * periodUs) / 1_000;
    if (this.#isVersion2) this.#write('cpu.max', `${quotaUs ?? 'max'} ${periodUs}`);
    else {
      this.#write('cpu.cfs_period_us', `${periodUs}`);
      this.#write('cpu.cfs_quota_us', `${quotaUs ?? -1}`);
    }
  }

  memory(): GroupMemory {
    const [stat, current, peak] = this.#isVersion2
      ? ['anon', 'memory.current', 'memory.peak']
      : ['rss', 'memory.usage_in_bytes', 'memory.max_usage_in_bytes'];
    const anonymous = new RegExp(`^${stat} (\\d+)$`, 'm').exec(this.#read('memory.stat'))?.[1];
    return {
      anonymous: Number(anonymous ?? Number.NaN),
      current: Number(this.#read(current)),
      peak: existsSync(this.#file(peak)) ? Number(this.#read(peak)) : Number.NaN,
    };
  }

  /** Removes the group, once its processes have ended, as they must. */
  async close(): Promise<void> {
    await until('the end of the processes of a group', () => {
      try {
        rmdirSync(this.#path);
        return true;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EBUSY') return false;
        throw error;
      }
    });
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

/**
 * While it is open, this process and what it starts have the cores before other programs of the machine: all
 * are in a control group of the highest weight. Among each other they share the cores as before.
 */
export class Precedence implements Closable {
  readonly group: ControlGroup;
  readonly #before: ControlGroup;

  private constructor(group: ControlGroup, before: ControlGroup) {
    this.group = group;
    this.#before = before;
  }

  /** The reason where this process may not have it. */
  static take(files?: ControlGroupFiles): Precedence | string {
    const group = ControlGroup.create('bench', 'cpu', files);
    if (typeof group === 'string') return group;
    const before = ControlGroup.of(process.pid, 'cpu', files);
    group.raiseWeight();
    group.add(process.pid);
    return new Precedence(group, before);
  }

  /** From now on this process is where it was before. */
  leave(): void {
    this.#before.add(process.pid);
  }

  /** Everything that was started must have ended. */
  async close(): Promise<void> {
    this.leave();
    await this.group.close();
  }
}
