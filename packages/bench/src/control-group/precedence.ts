import type { Closable } from '@kube-dns/testkit';
import { ControlGroup, type ControlGroupFiles } from './control-group.js';

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
