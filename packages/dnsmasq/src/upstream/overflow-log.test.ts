import { expect, it } from '@jest/globals';
import { ServerGroup } from '@kube-dns/transport';
import { recordedLog } from '../../test/recorded-log.js';
import { overflowLog } from './upstream-options.js';

it('too many questions are logged every five seconds at most, with the domain', () => {
  const log = recordedLog();
  let now = 1_000_000;
  const onOverflow = overflowLog({ maxInFlight: 3, maxUnproven: 2 }, log, () => now);
  const all = new ServerGroup('.', [], 'preferred');
  const corp = new ServerGroup('corp', [], 'preferred');
  for (let i = 0; i < 10; i++) onOverflow(all, false);
  now += 4_000;
  for (let i = 0; i < 10; i++) onOverflow(corp, false);
  now += 1_001;
  for (let i = 0; i < 10; i++) onOverflow(corp, false);
  expect(log.messages).toEqual([
    'Maximum number of concurrent DNS queries reached (max: 3)',
    'Maximum number of concurrent DNS queries to corp reached (max: 3)',
  ]);
});
