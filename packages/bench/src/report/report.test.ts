import { describe, expect, it } from '@jest/globals';
import type { Machine } from './machine.js';
import { Report } from './report.js';

const MACHINE: Machine = {
  cpu: 'Some CPU',
  cores: 2,
  memoryGib: 24,
  kernel: 'Linux 6',
  loadBefore: 0.1,
  benchNode: 'v24.0.0',
  serverNode: 'v24.0.1',
  date: '2026-01-02T03:04:05.000Z',
  commit: 'abc',
};

function report(): Report {
  const made = new Report('kubedns-scale', MACHINE, { services: 10 });
  made.add('ready after', 1.234, 's', 15);
  made.add('peak RSS', 200.06, 'MiB', 170);
  made.add('lists', 7, '');
  made.add('lag', NaN, 'ms', 50);
  made.note('a note');
  return made;
}

describe('a report', () => {
  it('tells the machine first, then figures beside their bars', () => {
    const lines = report().toText().split('\n');
    expect(lines[0]).toBe('kubedns-scale');
    expect(lines).toContain('cpu         Some CPU');
    const figures = lines.map((line) => line.replaceAll(/ +/g, ' '));
    expect(figures).toContain('ready after 1.23 s <= 15 ok');
    expect(figures).toContain('peak RSS 200.1 MiB <= 170 over');
    expect(figures).toContain('lists 7');
    expect(lines).toContain('a note');
  });

  it('counts a figure that could not be measured as missed', () => {
    expect(report().missed.map(({ name }) => name)).toEqual(['peak RSS', 'lag']);
  });

  it('says the same as JSON', () => {
    const json = JSON.parse(JSON.stringify(report())) as object;
    expect(json).toMatchObject({
      command: 'kubedns-scale',
      machine: { cpu: 'Some CPU' },
      options: { services: 10 },
      figures: [
        { name: 'ready after', value: 1.234, unit: 's', bar: { atMost: 15 }, verdict: 'ok' },
        { name: 'peak RSS', verdict: 'over' },
        { name: 'lists', value: 7, verdict: '' },
        { name: 'lag', value: null, verdict: 'over' },
      ],
      notes: ['a note'],
    });
  });
});
