import { describe, expect, it } from '@jest/globals';
import { type Machine, Report } from '@kube-dns/testkit';
import { type Metrics, NO_METRICS, type Score, ScoreLog } from '../load/scores.js';
import { CORES, isSameForAll, LATENCY, loadTitle } from './measure.js';
import {
  oursIn,
  STRONGEST_PAGE,
  strongestPage,
  type StrongestReport,
  strongestSection,
} from './page.js';

const MACHINE = { cpu: 'Some <CPU>', date: '2026-01-02', commit: 'abc', loadBefore: 1 } as Machine;
const HALF = loadTitle('hits', 50);

function score(subject: string, trial: string, run: number, metrics: Partial<Metrics>): Score {
  return { subject, trial, run, metrics: { ...NO_METRICS, ...metrics } };
}

/** CPU times of the runs of ours and of a peer, which is twice as fast in the second run. */
const FULL = [
  score('our dnsmasq', 'hits', 1, { cpuUs: 5, userUs: 1, systemUs: 4, answeredPercent: 100 }),
  score('peer', 'hits', 1, { cpuUs: 10, userUs: 4, systemUs: 6, answeredPercent: 99 }),
  score('our dnsmasq', 'hits', 2, { cpuUs: 10, userUs: 2, systemUs: 8, answeredPercent: 100 }),
  score('peer', 'hits', 2, { cpuUs: 10, userUs: 4, systemUs: 6, answeredPercent: 98 }),
];
const TIMES = { p50Ms: 0.05, p99Ms: 0.2, p999Ms: 12, openAnsweredPercent: 99.5 };
const PART = [score('our dnsmasq', HALF, 1, TIMES), score('peer', HALF, 1, TIMES)];

function reportOf(tables: Readonly<Record<string, readonly Score[]>>, note: string) {
  const report = new Report('strongest', MACHINE, {});
  for (const [title, scores] of Object.entries(tables)) {
    report.addSection({ title, header: [], rows: [] }, scores);
  }
  report.note(note);
  return JSON.parse(JSON.stringify(report)) as StrongestReport;
}

const SETTINGS = [
  ['ours', 'nothing', ''],
  ['peer', 'one thread', 'threads=1\n'],
] as const;

describe('the table of a load', () => {
  it('has times over those of ours where all servers are asked alike, and the busiest thread of several', () => {
    const title = `${LATENCY}, 1000 questions a second`;
    const slower = { ...TIMES, p50Ms: 0.1, p99Ms: 0.3 };
    const rated = [score('our dnsmasq', title, 1, TIMES), score('peer', title, 1, slower)];
    const { header, rows } = strongestSection(new ScoreLog(rated), title);
    expect(isSameForAll(title)).toBe(true);
    expect(isSameForAll(HALF)).toBe(false);
    expect(header.slice(7, 9)).toEqual(['p50 × ours', 'p99 × ours']);
    expect(rows.map((row) => row.slice(7, 9))).toEqual([
      ['-', '-'],
      ['2.00', '1.50'],
    ]);
    const two = [score('our dnsmasq × 2', CORES, 1, { cpuUs: 5, busiestPercent: 51 })];
    const section = strongestSection(new ScoreLog(two), CORES);
    expect(section.rows[0]![section.header.indexOf('busiest thread %')]).toBe('51');
  });

  it('has ratios run by run, and what was lost', () => {
    const { header, rows } = strongestSection(new ScoreLog(FULL), 'hits');
    expect(header).toEqual([
      'server',
      'answers/s',
      'CPU µs',
      '× ours',
      'user µs',
      'system µs',
      'lost %',
      'wrong',
    ]);
    expect(rows[0]!.slice(2, 4)).toEqual(['7.50 (5.00…10.00)', '-']);
    expect(rows[1]!.slice(2, 4)).toEqual(['10.00', '1.50 (1.00…2.00)']);
    expect(rows[1]![6]).toBe('1.50 (1.00…2.00)');
  });

  it('has times to an answer where there are some', () => {
    const { header, rows } = strongestSection(new ScoreLog(PART), HALF);
    const [, peer = []] = rows;
    const cell = (name: string) => peer[header.indexOf(name)];
    expect([cell('p50 ms'), cell('p99 ms'), cell('p99.9 ms')]).toEqual([
      '0.050',
      '0.200',
      '12.000',
    ]);
    expect(cell('lost %')).toBe('0.50');
    const single = [score('our dnsmasq', 'hits', 1, TIMES)];
    expect(strongestSection(new ScoreLog(single), 'hits').header).toContain('p99.9 ms');
  });

  it('has no ratios without ours', () => {
    const log = new ScoreLog(FULL.filter(({ subject }) => subject === 'peer'));
    expect(oursIn(log, 'hits')).toBeUndefined();
    expect(strongestSection(log, 'hits').rows[0]![3]).toBe('-');
  });
});

describe('the page', () => {
  const parts = reportOf({ [HALF]: PART }, 'another note');
  const files = strongestPage([reportOf({ hits: FULL }, 'a note'), parts], SETTINGS);
  const page = files.get(STRONGEST_PAGE)!;

  it('has the tables of all reports, settings, files and notes', () => {
    expect(page.match(/^## .*$/gm)).toEqual([
      '## Plots',
      '## hits',
      `## ${HALF}`,
      '## Settings',
      '## Configurations',
    ]);
    expect(page).toContain('### peer\n\n```text\nthreads=1\n```\n');
    expect(page).not.toContain('### ours');
    expect(page).toMatch(/\| peer +\| one thread +\|/);
    expect(page).toContain('- a note\n');
    expect(page).toContain('- another note\n');
    expect(page).toContain(`- ${HALF}: 2026-01-02, Some <CPU>, commit abc, a load of 1 before.\n`);
  });

  it('has a picture of the CPU times and of the times to an answer', () => {
    const pictures = [...files.keys()].filter((name) => name.endsWith('.svg'));
    expect(pictures).toEqual(['strongest-cpu.svg', 'strongest-tail-50.svg']);
    for (const name of pictures) expect(page).toContain(`](${name})`);
    const cpu = files.get('strongest-cpu.svg')!;
    expect(cpu).toContain('10.0, 1.50 × ours');
    expect(cpu).toContain('width="180" height="14" class="peer"');
    expect(files.get('strongest-tail-50.svg')).toContain('0.050 / 0.20 / 12');
  });

  it('draws the CPU times of each scenario on a scale of its own', () => {
    const cpu = (cpuUs: number) => ({ cpuUs, userUs: cpuUs, systemUs: 0 });
    const tables = {
      hits: [score('peer', 'hits', 1, cpu(5))],
      zone: [score('peer', 'zone', 1, cpu(500))],
    };
    const svg = strongestPage([reportOf(tables, '')], []).get('strongest-cpu.svg')!;
    expect(svg.match(/width="450" height="14"/g)).toHaveLength(2);
  });

  it('takes of a table that is there twice the last one', () => {
    const newer = reportOf({ hits: [score('peer', 'hits', 1, { cpuUs: 3 })] }, 'a note');
    const text = strongestPage([reportOf({ hits: FULL }, 'a note'), newer], []).get(
      STRONGEST_PAGE,
    )!;
    expect(text).not.toContain('our dnsmasq');
    expect(text).toContain('3.00');
  });
});
