import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Closable, isAlive, messageOf, until } from '@kube-dns/testkit';

const PERIOD_US = 100_000;

/** Where a control group of CPU time is made: with version 1 of control groups, and with version 2. */
const HIERARCHIES = [
  {
    root: '/sys/fs/cgroup/cpu',
    files: (quotaUs: number) => ({
      'cpu.cfs_period_us': `${PERIOD_US}`,
      'cpu.cfs_quota_us': `${quotaUs}`,
    }),
  },
  {
    root: '/sys/fs/cgroup',
    files: (quotaUs: number) => ({ 'cpu.max': `${quotaUs} ${PERIOD_US}` }),
  },
] as const;

/** A control group of our own that limits CPU time, as kubelet makes one of a container's limit. */
export class CpuLimit implements Closable {
  readonly #path: string;
  readonly #pids: number[] = [];

  private constructor(path: string) {
    this.#path = path;
  }

  /** A group of this many thousandths of a CPU; the reason where this process may not make one. */
  static create(name: string, milliCpus: number): CpuLimit | string {
    const { root, files } = HIERARCHIES.find((each) => existsSync(each.root)) ?? HIERARCHIES[1];
    const path = join(root, `${name}-${process.pid}`);
    try {
      mkdirSync(path);
    } catch (error) {
      return messageOf(error);
    }
    try {
      for (const [file, text] of Object.entries(files((milliCpus * PERIOD_US) / 1_000))) {
        writeFileSync(join(path, file), text);
      }
      return new CpuLimit(path);
    } catch (error) {
      rmdirSync(path);
      return messageOf(error);
    }
  }

  /** Limits a process with all its threads from now on. */
  limit(pid: number): void {
    writeFileSync(join(this.#path, 'cgroup.procs'), `${pid}`);
    this.#pids.push(pid);
  }

  /** Removes the group; its processes must end. */
  async close(): Promise<void> {
    await until('the end of the limited processes', () => !this.#pids.some(isAlive));
    rmdirSync(this.#path);
  }
}
