import { beforeEach, describe, expect, it } from '@jest/globals';
import { type RecordedLog, recordedLog } from '../../test/support/recorded-log.js';
import { readMetricsEnvironment } from './metrics-environment.js';

const USUAL = { port: 10_055, path: '/metrics', prefix: 'skydns_skydns' };
const PORT = '10055';

let log: RecordedLog;
beforeEach(() => {
  log = recordedLog();
});

const read = (variables: Record<string, string>) => {
  const named = Object.entries(variables).map(([name, value]) => [`PROMETHEUS_${name}`, value]);
  return readMetricsEnvironment(Object.fromEntries(named) as NodeJS.ProcessEnv, log);
};

describe('the environment of the metrics', () => {
  it('turns them off without a port, and logs nothing', () => {
    expect(read({})).toBeUndefined();
    expect(read({ PORT: '', PATH: '/m' })).toBeUndefined();
    expect(log.lines).toEqual([]);
  });

  it('needs only a port; an empty value counts as absent', () => {
    expect(read({ PORT })).toEqual(USUAL);
    expect(read({ PORT, PATH: '', NAMESPACE: '', SUBSYSTEM: '' })).toEqual(USUAL);
    expect(log.lines).toEqual([]);
  });

  it('chooses path and names', () => {
    const all = { PORT: '1', PATH: '/a/b+c', NAMESPACE: 'Our:dns', SUBSYSTEM: '1st' };
    expect(read(all)).toEqual({ port: 1, path: '/a/b+c', prefix: 'Our:dns_1st' });
  });

  it.each(['tcp://10.0.0.1:9090', '0', '65536', '-1', '1e3', ' 80', '99999999999999999999'])(
    'turns them off with the port %s, and says so',
    (text) => {
      expect(read({ PORT: text })).toBeUndefined();
      expect(log.lines).toEqual([`W PROMETHEUS_PORT=${text} is not a port; metrics are off`]);
    },
  );

  it.each([
    ['PATH', 'metrics'],
    ['PATH', '/a b'],
    ['PATH', '/a?b'],
    ['NAMESPACE', 'a-b'],
    ['NAMESPACE', '1a'],
    ['NAMESPACE', 'kubedns'],
    ['SUBSYSTEM', 'a.b'],
  ])('uses the default in place of %s=%s, and logs it', (name, value) => {
    expect(read({ PORT, [name]: value })).toEqual(USUAL);
    const initial = name === 'PATH' ? '/metrics' : 'skydns';
    expect(log.lines).toEqual([`W PROMETHEUS_${name}=${value} is not valid; using ${initial}`]);
  });
});
