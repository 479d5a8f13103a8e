import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import { FakeUpstream } from '../../test/fake-upstream.js';
import { RouterTestbed } from '../../test/router-testbed.js';

let fakes: FakeUpstream[];
let testbed: RouterTestbed;

beforeEach(async () => {
  fakes = [await FakeUpstream.start(() => null), await FakeUpstream.start(() => null)];
  testbed = new RouterTestbed();
});

afterEach(async () => {
  testbed.close();
  await Promise.all(fakes.map((upstream) => upstream.close()));
});

it('encrypted default servers are not probed for loops, because a probe is plain text', async () => {
  testbed.create(`tls://${fakes[0]!.text}`, fakes[1]!.text);
  testbed.router.load();
  testbed.router.startProbing();
  await until(() => fakes[1]!.asked.length > 0);
  expect(fakes[0]!.asked).toEqual([]);
});
