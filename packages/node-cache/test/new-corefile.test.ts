import { afterEach, describe, expect, it } from '@jest/globals';
import {
  ask,
  decodeMessage,
  encodeQuery,
  exchange,
  ownedBy,
  type Response,
  type Script,
  until,
} from '@kube-dns/testkit';
import { holdTime } from './support/held-time.js';
import { CLUSTER, Testbed, WORLD } from './support/testbed.js';

const opened = ownedBy(afterEach);
holdTime();

const ADDRESS: Response = { answers: [{ type: 'A', ttl: 30, data: '10.0.0.1' }] };

const start = async (script: Script, corefile = CLUSTER + WORLD) => {
  const testbed = opened(await Testbed.create(script));
  await testbed.serve(corefile);
  return testbed;
};

describe('a new Corefile', () => {
  it('leaves the caches of the blocks that it does not change', async () => {
    const testbed = await start(() => ADDRESS);
    await ask(testbed.port, 'a.cluster.local');
    await ask(testbed.port, 'a.example');
    await testbed.serve(CLUSTER + WORLD.replace('cache 30', 'cache 20'));
    await ask(testbed.port, 'a.cluster.local');
    expect(testbed.asked).toHaveLength(2);
    expect((await ask(testbed.port, 'a.example')).ttls).toEqual([20]);
    expect(testbed.asked).toHaveLength(3);
  });

  it('is obeyed where it changes what is beside the answers: log and bind', async () => {
    const testbed = await start(() => ADDRESS, WORLD);
    await ask(testbed.port, 'a.example');
    await testbed.serve(WORLD.replace('errors', 'errors\n    log'));
    await ask(testbed.port, 'a.example');
    expect(testbed.lines.filter((line) => line.includes('"A IN a.example.'))).toHaveLength(1);
    expect(testbed.asked).toHaveLength(1);
    await testbed.serve(WORLD.replace('errors', 'errors\n    bind 127.0.0.2'));
    const other = await exchange(testbed.port, encodeQuery({ name: 'b.example' }), {
      address: '127.0.0.2',
    });
    expect(decodeMessage(other).texts).toEqual(['A 10.0.0.1']);
  });

  it('is served by the same socket, and what is in flight has its answer', async () => {
    let release: (() => void) | undefined;
    const testbed = await start((request) => {
      if (!request.question.name.startsWith('slow')) return ADDRESS;
      return new Promise((resolve) => (release = () => resolve(ADDRESS)));
    });
    const [point] = testbed.server.points.all;
    const slow = ask(testbed.port, 'slow.example');
    await until(() => release !== undefined);
    await testbed.serve(CLUSTER + WORLD.replace('cache 30', 'cache 20'));
    release!();
    expect((await slow).texts).toEqual(['A 10.0.0.1']);
    expect(testbed.server.points.all[0]).toBe(point);
  });

  it('with a missing file leaves the blocks before as they are, and nothing of its own', async () => {
    const testbed = await start(() => ADDRESS, WORLD);
    const { blocks, upstreams } = testbed.server;
    const [served] = blocks.all;
    const { block } = served!;
    const other = CLUSTER.replace('UPSTREAM', '192.0.2.3');
    const logged = WORLD.replace('errors', 'errors\n    log');
    const broken =
      'x.example:PORT {\n    forward . tls://192.0.2.2 {\n        tls /missing/ca.pem\n    }\n}\n';
    await expect(testbed.serve(other + logged + broken)).rejects.toThrow('/missing/ca.pem');
    expect(blocks.all).toEqual([served]);
    expect(served!.block).toBe(block);
    const servers = Array.from(upstreams.all(), ({ address }) => address);
    expect(servers).toEqual(['127.0.0.1']);
  });

  it('that cannot be listened on leaves what there is', async () => {
    const testbed = await start(() => ADDRESS, CLUSTER);
    const other = CLUSTER.replaceAll('cluster.local', 'other.local');
    await expect(
      testbed.serve(`${other}x.example:PORT {\n    bind 192.0.2.1\n    forward . UPSTREAM\n}\n`),
    ).rejects.toThrow('192.0.2.1');
    expect((await ask(testbed.port, 'a.cluster.local')).texts).toEqual(['A 10.0.0.1']);
    expect((await ask(testbed.port, 'a.other.local')).rcode).toBe('REFUSED');
    expect(testbed.server.points.all).toHaveLength(1);
  });
});
