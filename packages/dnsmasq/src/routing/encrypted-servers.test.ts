import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { ScriptedNameServer, until } from '@kube-dns/testkit';
import { RouterTestbed } from '../../test/router-testbed.js';

let fakes: ScriptedNameServer[];
let testbed: RouterTestbed;

beforeEach(async () => {
  fakes = [await ScriptedNameServer.start(() => null), await ScriptedNameServer.start(() => null)];
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
  await until(() => fakes[1]!.requests.length > 0);
  expect(fakes[0]!.requests).toEqual([]);
});
