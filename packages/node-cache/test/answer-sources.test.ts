import { afterEach, expect, it, jest } from '@jest/globals';
import { ask, ownedBy, type Response, type Script, until } from '@kube-dns/testkit';
import { holdTime } from './support/held-time.js';
import { CLUSTER, Testbed, WORLD } from './support/testbed.js';

const opened = ownedBy(afterEach);
holdTime();
const OTHERS = `
hosts.example:PORT {
    hosts {
        10.0.0.9 a.hosts.example
    }
}
old.example:PORT {
    cache {
        success 100 1 1
        serve_stale 1h immediate
    }
    forward . UPSTREAM
}
`;

const ADDRESS: Response = { answers: [{ type: 'A', ttl: 1, data: '10.0.0.1' }] };

async function start(script: Script) {
  const testbed = opened(await Testbed.create(script));
  await testbed.serve(OTHERS + CLUSTER + WORLD);
  const sourceOf = async (name: string, rest: object = {}) => {
    await ask(testbed.port, { name, ...rest });
    return testbed.sources.take();
  };
  return { testbed, sourceOf, server: `127.0.0.1#${testbed.upstream.port}` };
}

it('an answer says whether it came from a server, the cache, its expired part, hosts or a refusal', async () => {
  const { sourceOf, server } = await start(() => ADDRESS);
  expect(await sourceOf('a.example')).toEqual([`a.example upstream ${server}`]);
  expect(await sourceOf('a.example')).toEqual(['a.example cache']);
  expect(await sourceOf('a.cluster.local')).toEqual([`a.cluster.local upstream tcp://${server}`]);
  expect(await sourceOf('a.cluster.local')).toEqual(['a.cluster.local cache']);
  expect(await sourceOf('a.hosts.example')).toEqual(['a.hosts.example local']);
  expect(await sourceOf('b.hosts.example')).toEqual(['b.hosts.example local']);
  expect(await sourceOf('version.bind', { type: 'TXT', class: 'CH' })).toEqual([
    'version.bind local',
  ]);
  expect(await sourceOf('a.old.example')).toEqual([`a.old.example upstream ${server}`]);
  await jest.advanceTimersByTimeAsync(1_001);
  expect(await sourceOf('a.old.example')).toEqual(['a.old.example stale']);
});

it('an answer to several clients at a time is one that was asked for and others that joined', async () => {
  const releases: (() => void)[] = [];
  const { testbed, server } = await start(async () => {
    await new Promise<void>((resolve) => releases.push(resolve));
    return ADDRESS;
  });
  const all = [1, 2].map(() => ask(testbed.port, 'a.example'));
  const { forwarder } = testbed.server.blocks.all.at(-1)!.resolver;
  await until(() => forwarder.counters.joined === 1 && releases.length > 0);
  for (const release of releases) release();
  await Promise.all(all);
  expect(testbed.sources.take().sort()).toEqual([
    `a.example joined ${server}`,
    `a.example upstream ${server}`,
  ]);
});

it('a failure is that of the server, or of none, and of the cache a moment later', async () => {
  const { testbed, sourceOf, server } = await start(() => ({ rcode: 'SERVFAIL' }));
  expect(await sourceOf('a.example')).toEqual([`a.example upstream ${server}`]);
  expect(await sourceOf('a.example')).toEqual(['a.example cache']);
  await testbed.upstream.close();
  let sources: string[] | undefined;
  void sourceOf('b.example').then((taken) => (sources = taken));
  await until(async () => {
    await jest.advanceTimersByTimeAsync(100);
    return sources !== undefined;
  });
  expect(sources).toEqual(['b.example upstream']);
});

it('the questions that it asks itself are not seen', async () => {
  const { testbed } = await start(() => ADDRESS);
  await until(() => testbed.server.isReady);
  expect(testbed.sources.take()).toEqual([]);
});
