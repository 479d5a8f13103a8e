import { afterEach, expect, it } from '@jest/globals';
import { addressRecords, ask, ownedBy } from '@kube-dns/testkit';
import { holdTime } from './support/held-time.js';
import { CLUSTER, Testbed } from './support/testbed.js';

const own = ownedBy(afterEach);
holdTime();

const block = (zone: string, ...options: string[]) =>
  CLUSTER.replace('cluster.local', zone).replace(
    'force_tcp',
    ['force_tcp', ...options].join('\n        '),
  );

it('blocks that forward to one server share its connections, and so the shortest max_age', async () => {
  const testbed = own(await Testbed.create(() => ({ answers: addressRecords(30, '10.0.0.1') })));
  const { blocks } = testbed.server;
  const maxAgeMs = () => blocks.all.map(({ group }) => group?.servers[0]?.encrypted?.maxAgeMs);
  const other = block('10.in-addr.arpa') + block('ip6.arpa', 'max_age 20s');
  await testbed.serve(block('cluster.local', 'max_age 30s') + other);
  expect(maxAgeMs()).toEqual([20_000, 20_000, 20_000]);
  await ask(testbed.port, 'a.cluster.local');
  // Another age is no other block: its cache stays.
  await testbed.serve(block('cluster.local', 'max_age 15s') + other);
  expect(maxAgeMs()).toEqual([15_000, 15_000, 15_000]);
  await ask(testbed.port, 'a.cluster.local');
  expect(testbed.asked).toHaveLength(1);
  await testbed.serve(block('cluster.local'));
  expect(maxAgeMs()).toEqual([0]);
});
