import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TemporaryFolder } from '@kube-dns/testkit';
import type { ContainerSpec } from '../fixtures/container.js';
import { CONTAINER_NAMES } from '../fixtures/manifest-pod.js';
import type { FaultContext } from './fault.js';
import type { ProcessTestbed } from './process-testbed.js';

/** The time of day of a pod, which a row may set. */
export class PodClock {
  readonly #file: string;

  constructor(context: FaultContext) {
    this.#file = join(context.owned.add(new TemporaryFolder()).path, 'clock');
    writeFileSync(this.#file, '0');
  }

  /** Has a container look at this clock. */
  readonly given = (spec: ContainerSpec): ContainerSpec => {
    // The built file, also where this module runs from its source.
    const entry = new URL('../../dist/fixtures/clock-shift.js', import.meta.url).href;
    return {
      ...spec,
      nodeFlags: [...spec.nodeFlags, `--import=${entry}`],
      env: { ...spec.env, CLOCK_FILE: this.#file },
    };
  };

  /** Sets it, and waits until each container has seen that. */
  async set(testbed: ProcessTestbed, shiftMs: number): Promise<void> {
    writeFileSync(this.#file, String(shiftMs));
    const isSet = () => {
      const { containers } = testbed;
      const files = CONTAINER_NAMES.map((name) => `${this.#file}.${containers[name].pid}`);
      return files.every(
        (file) => existsSync(file) && readFileSync(file, 'utf8') === String(shiftMs),
      );
    };
    await testbed.waitFor('container with another time', isSet);
  }
}
