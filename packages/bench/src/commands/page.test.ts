import { describe, expect, it } from '@jest/globals';
import { type Machine, Report } from '@kube-dns/testkit';
import { NO_METRICS, type Score, Series } from '../load/scores.js';
import { type EarlierReport, EarlierResults, PAGE_FILE, pageOf } from './page.js';

const TRIAL = 'A';
const MACHINE = { cpu: 'Some <CPU>', date: '2026-01-02', commit: 'abc', loadBefore: 1 } as Machine;

function score(subject: string, cpuUs: number): Score {
  const cpu = { cpuUs, userUs: 1, systemUs: cpuUs - 1 };
  const times = { p50Ms: 0.05, p99Ms: 0.2, p999Ms: 12 };
  return { subject, trial: TRIAL, run: 1, metrics: { ...NO_METRICS, ...cpu, ...times } };
}

function reportOf(fill: (report: Report) => void): EarlierReport {
  const report = new Report('dns', MACHINE, {});
  fill(report);
  return JSON.parse(JSON.stringify(report)) as EarlierReport;
}

const LOAD = reportOf((report) => {
  const scores = [score('our kubedns', 5), score('a <peer>', 20), score('batch echo', 4)];
  report.addSection({ title: 'kubedns-services, A', header: [], rows: [] }, scores);
  report.add('kubedns-services: CPU/query', 1.25, '×', { atMost: 1.2 }, { min: 1.1, max: 1.3 });
  report.note('a note');
});
const MEMORY = reportOf((report) => {
  const series = new Series();
  const kind = { unit: 'MiB', digits: 1, bar: { atMost: 22 } };
  series.add('kubedns, idle: anonymous', 33.5, kind);
  series.add('kubedns, used: anonymous', NaN, kind);
  series.addTo(report, 'memory');
});

const SCALE = {
  ...reportOf((report) => {
    report.add('ready after', 4, 's');
    report.add('peak RSS', 150, 'MiB', 170);
  }),
  command: 'kubedns-scale',
};

describe('the page', () => {
  const files = pageOf(new EarlierResults([LOAD, MEMORY]));
  const page = files.get(PAGE_FILE)!;
  const squeezed = page.replaceAll(/ +/g, ' ');

  it('has the tables of all reports, and the figures beside their bars', () => {
    expect(squeezed).toContain('\n## kubedns-services, A\n');
    expect(squeezed).toContain('| our kubedns | - | 1.00 | 4.00 | 1.25 |');
    expect(squeezed).toContain('| kubedns, idle: anonymous | 33.5 | MiB |');
    expect(squeezed).toContain('| kubedns, used: anonymous | - | MiB |');
    expect(squeezed).toContain(
      '| kubedns-services: CPU/query | 1.25 × | 1.10…1.30 | <= 1.20 | missed |',
    );
    expect(page.indexOf('## memory')).toBeLessThan(page.indexOf('## Bars'));
    expect(page).toContain('- a note\n');
    expect(page).toContain('- memory: 2026-01-02, Some <CPU>, commit abc, a load of 1 before.\n');
  });

  it('names the missed bars first', () => {
    const [head = ''] = page.split('\n## ');
    expect(head).toContain('Of 3 bars 3 are missed;');
    expect(head).toContain(
      '\n\n- kubedns-services: CPU/query\n- kubedns, idle: anonymous\n- kubedns, used: anonymous\n\n',
    );
    const met = pageOf(new EarlierResults([SCALE])).get(PAGE_FILE)!;
    expect(met).toContain('\n\nAll 1 bars are met.\n\n');
  });

  it('shows the pictures that there are results for', () => {
    expect([...files.keys()]).toEqual([PAGE_FILE, 'cpu.svg', 'tail.svg', 'memory.svg']);
    for (const file of [...files.keys()].slice(1)) expect(page).toContain(`](${file})\n`);
  });

  it('has bars as long as the figures, in proportion', () => {
    const widths = [...files.get('cpu.svg')!.matchAll(/<rect [^>]*width="([\d.]+)"/g)];
    const [user = 0, system = 0] = widths.map(([, width]) => Number(width));
    expect(system / user).toBeCloseTo(4, 0);
    expect(files.get('cpu.svg')).toContain('>5.0, 1.25 × echo<');
    expect(files.get('tail.svg')).toContain('>0.050 / 0.20 / 12<');
    expect(files.get('tail.svg')).toContain('a line for each power of ten, from 0.01 to 100<');
    expect(files.get('memory.svg')).toContain('class="mark"');
  });

  it('has pictures for a light and a dark page, without scripts, whatever the names are', () => {
    for (const [file, svg] of [...files].slice(1)) {
      expect({ file, isSvg: svg.startsWith('<svg xmlns=') }).toEqual({ file, isSvg: true });
      expect(svg).toContain('@media (prefers-color-scheme:dark)');
      expect(svg).not.toMatch(/<script|NaN|undefined|<peer>/);
    }
    expect(files.get('cpu.svg')).toContain('a &lt;peer>');
  });

  it('has what other commands have beside a bar', () => {
    const other = pageOf(new EarlierResults([LOAD, SCALE])).get(PAGE_FILE)!;
    const text = other.replaceAll(/ +/g, ' ');
    expect(text).toContain('| kubedns-scale: peak RSS | 150 MiB | | <= 170 | ok |');
    expect(text).not.toContain('ready after');
    expect(text).toContain('- kubedns-scale: 2026-01-02, Some <CPU>,');
  });

  it('takes of a table that is there twice the last one', () => {
    const newer = reportOf((report) => {
      const scores = [score('our kubedns', 3)];
      report.addSection({ title: 'kubedns-services, A', header: [], rows: [] }, scores);
    });
    const [, ...rest] = pageOf(new EarlierResults([LOAD, newer]))
      .get(PAGE_FILE)!
      .split('## kubedns');
    expect(rest).toHaveLength(1);
    expect(rest[0]).toContain('| 2.00 ');
    expect(rest[0]).not.toContain('peer');
  });
});
