import { expect, it } from '@jest/globals';
import { Network } from '../network.js';
import { Random } from '../random.js';
import { Scheduler } from '../scheduler.js';
import { Machine } from './machine.js';
import { SimulatedProcess } from './process.js';
import type { Timers } from './timers.js';

function startProgram(seed: string, program: (load: (module: string) => unknown) => void) {
  const scheduler = new Scheduler();
  const random = new Random(seed);
  const network = new Network(scheduler, random);
  const machine = new Machine({ name: 'pod', addresses: ['10.0.0.1'] }, network, random);
  const process = new SimulatedProcess(machine, { name: 'program', program });
  process.start();
  return { scheduler, process };
}

it('what is forgotten in the turn after which it would happen does not happen', async () => {
  let turns = 0;
  const { scheduler, process } = startProgram('1', (load) => {
    const { setInterval } = load('node:timers') as Timers;
    setInterval(() => turns++, 1_000);
  });
  let forget: () => void = () => undefined;
  scheduler.at(500_000, () => (forget = process.afterTurns(1, () => process.freeze())));
  // The program's turn of this time comes first.
  scheduler.at(1_000_000, () => scheduler.at(1_000_000, () => forget()));
  await scheduler.run(3_500_000);
  expect(turns).toBe(3);
});

it.each(['7', '8', '9'])(
  'a timer that was due while the program was frozen, and that it then forgets, runs no more (seed %s)',
  async (seed) => {
    const seen: string[] = [];
    const { scheduler, process } = startProgram(seed, (load) => {
      const { setTimeout, setInterval, clearInterval } = load('node:timers') as Timers;
      const interval = setInterval(() => seen.push('interval'), 1_000);
      setTimeout(() => {
        seen.push('timeout');
        clearInterval(interval);
      }, 999);
    });
    scheduler.at(500_000, () => process.freeze());
    scheduler.at(2_000_000, () => process.thaw());
    await scheduler.run(9_000_000);
    expect(seen).toEqual(['timeout']);
    expect(process.timers).toBe(0);
  },
);
