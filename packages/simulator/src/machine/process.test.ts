import { expect, it } from '@jest/globals';
import { Network } from '../network.js';
import { Random } from '../random.js';
import { Scheduler } from '../scheduler.js';
import { Machine } from './machine.js';
import { SimulatedProcess } from './process.js';
import type { Timers } from './timers.js';

it.each(['7', '8', '9'])(
  'a timer that was due while the program was frozen, and that it then forgets, runs no more (seed %s)',
  async (seed) => {
    const scheduler = new Scheduler();
    const random = new Random(seed);
    const machine = new Machine(
      { name: 'pod', addresses: ['10.0.0.1'] },
      new Network(scheduler, random),
      random,
    );
    const seen: string[] = [];
    const process = new SimulatedProcess(machine, {
      name: 'program',
      program: (load) => {
        const { setTimeout, setInterval, clearInterval } = load('node:timers') as Timers;
        const interval = setInterval(() => seen.push('interval'), 1_000);
        setTimeout(() => {
          seen.push('timeout');
          clearInterval(interval);
        }, 999);
      },
    });
    process.start();
    scheduler.at(500_000, () => process.freeze());
    scheduler.at(2_000_000, () => process.thaw());
    await scheduler.run(9_000_000);
    expect(seen).toEqual(['timeout']);
    expect(process.timers).toBe(0);
  },
);
