import { beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import { type RecordedLog, recordedLog } from '../../test/support/recorded-log.js';
import { WatchLog } from './watch-log.js';

let log: RecordedLog;
beforeEach(() => {
  log = recordedLog();
});

describe('WatchLog', () => {
  it('logs the same failure once, and another one immediately', () => {
    const watch = new WatchLog(log, '/api/v1/services');
    for (const failure of ['no', 'no', 'no', 'never', 'no']) watch.failed(failure, 'next try');
    expect(log.lines).toEqual([
      'W /api/v1/services: no; next try',
      'W /api/v1/services: never; next try',
      'W /api/v1/services: no; next try',
    ]);
  });

  it('names the first thing that was left out, and counts the others', async () => {
    const watch = new WatchLog(log, '/api/v1/services', 50);
    for (let i = 0; i < 1_000; i++) watch.rejected(`shop/web-${i}`, 'it is bad');
    await until('the count', () => log.lines.length > 1);
    expect(log.lines).toEqual([
      'E /api/v1/services: shop/web-0: it is bad; left out',
      'E /api/v1/services: 999 more left out',
    ]);
    watch.rejected('shop/next', 'it is bad too');
    expect(log.lines.at(-1)).toBe('E /api/v1/services: shop/next: it is bad too; left out');
    watch.close();
  });

  it('logs the pending count when it is closed', () => {
    const watch = new WatchLog(log, '/api/v1/services');
    for (const name of ['a', 'b', 'c']) watch.rejected(name, 'it is bad');
    watch.close();
    watch.close();
    expect(log.lines.at(-1)).toBe('E /api/v1/services: 2 more left out');
  });
});
