import { describe, expect, it } from '@jest/globals';
import { type Machine, markdownTable, Report } from './report.js';

describe('a table of Markdown', () => {
  it('has columns as wide as their cells', () => {
    const table = markdownTable(['server', ''], [['dnsmasq', '1'], ['x']]);
    expect(table.split('\n')).toEqual([
      '| server  |     |',
      '| ------- | --- |',
      '| dnsmasq | 1   |',
      '| x       |     |',
      '',
    ]);
  });

  it('is not broken by the text of its cells', () => {
    const [, , row] = markdownTable(['a'], [['x | y\nz']]).split('\n');
    expect(row).toBe('| x \\| y z |');
  });
});

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
  it('has the machine first, then figures beside their bars', () => {
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

  it('compares a figure with a minimum', () => {
    const made = report();
    made.add('queries', 0.9, '×', { atLeast: 1.3 });
    made.add('more queries', 1.3, '×', { atLeast: 1.3 });
    expect(made.missed.map(({ name }) => name)).toEqual(['peak RSS', 'lag', 'queries']);
    expect(made.toText()).toMatch(/^queries +0\.90 +× +>= 1\.30 +over$/m);
  });

  it('is Markdown with its tables above the bars', () => {
    const made = report();
    made.addSection({ title: 'hits', header: ['server', 'q/s'], rows: [['ours', '7']] }, [7]);
    const markdown = made.toMarkdown();
    const squeezed = markdown.replaceAll(/ +/g, ' ');
    expect(markdown.startsWith('# kubedns-scale\n\n| machine')).toBe(true);
    expect(squeezed).toContain('| cpu | Some CPU |\n');
    expect(squeezed).toContain('\n## hits\n\n| server | q/s |\n');
    expect(squeezed).toContain('| ours | 7 |\n');
    expect(squeezed).toContain('| peak RSS | 200.1 MiB | | <= 170 | missed |\n');
    expect(markdown).toMatch(/\n- a note\n$/);
    expect(markdown.indexOf('## hits')).toBeLessThan(markdown.indexOf('## Bars'));
    expect(JSON.parse(JSON.stringify(made))).toMatchObject({ results: { hits: [7] } });
  });

  it('has the same content as JSON', () => {
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
