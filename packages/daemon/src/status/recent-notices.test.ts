import { expect, it } from '@jest/globals';
import { createLog } from '../log.js';
import { RecentNotices } from './status-report.js';

it('has the last 20 errors and warnings with their times, one that repeats once, and cuts long ones', () => {
  let now = 0;
  const lines: string[] = [];
  const notices = new RecentNotices(() => ++now);
  const log = notices.beside(
    createLog({ name: 'test', verbosity: 9, write: (line) => lines.push(line) }),
  );
  log.info('no notice');
  log.verbose(1, 'no notice');
  for (let i = 0; i < 30; i++) log.warn(`warning ${i}`);
  log.error('x'.repeat(10_000));
  log.error('again');
  log.error('again');
  log.warn('again');
  expect(notices.all).toHaveLength(20);
  expect(notices.all.slice(0, 2)).toEqual([
    { level: 'warning', message: 'again', atMs: 34, times: 1 },
    { level: 'error', message: 'again', atMs: 33, times: 2 },
  ]);
  expect(notices.all[2]!.message).toHaveLength(1_000);
  expect(notices.all.at(-1)!.message).toBe('warning 13');
  expect(lines).toHaveLength(36);
});
