import { createServer } from 'node:https';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ownedBy, TemporaryFolder, TestAuthority } from '@kube-dns/testkit';
import { lookupInApi, ServiceFollower } from './cluster-service.js';

const opened = ownedBy(afterEach);

describe('the address of a service that is lost', () => {
  let isDown: boolean;
  let answer: () => Promise<string>;
  let changes: number;
  let lines: string[];
  let asked: number;
  let follower: ServiceFollower;

  beforeEach(() => {
    isDown = true;
    changes = asked = 0;
    lines = [];
    answer = () => Promise.resolve('10.96.0.11');
    follower = new ServiceFollower({
      service: 'dns',
      lookup: () => '10.96.0.10',
      ask: () => (asked++, answer()),
      log: { warn: (line) => lines.push(line) },
    });
  });

  const followed = { isDown: () => isDown, onChange: () => changes++ };
  const look = async (times: number) => {
    for (let i = 0; i < times; i++) await follower.look(followed);
  };

  it('is that of the API server from then on', async () => {
    expect(follower.lookup('dns')).toBe('10.96.0.10');
    await look(2);
    expect(follower.lookup('dns')).toBe('10.96.0.11');
    expect(follower.lookup('other')).toBe('10.96.0.10');
    expect(changes).toBe(1);
  });

  it('is asked for in the second second, and then every ten', async () => {
    await look(1);
    expect(asked).toBe(0);
    await look(1);
    expect(asked).toBe(1);
    await look(10);
    expect([asked, changes]).toEqual([2, 1]);
    isDown = false;
    await look(20);
    expect(asked).toBe(2);
  });

  it('stays what it was when the API server does not say, which is logged once', async () => {
    answer = () => Promise.reject(new Error('the API server answers 403'));
    await look(30);
    expect(asked).toBe(3);
    expect(lines).toEqual([
      'the address of service dns cannot be looked up: the API server answers 403',
    ]);
    expect(follower.lookup('dns')).toBe('10.96.0.10');
  });
});

describe('the API server', () => {
  const start = async (status: number, body: string) => {
    const authority = new TestAuthority();
    const seen: string[] = [];
    const server = createServer(authority.issue({ names: ['127.0.0.1'] }), (request, response) => {
      seen.push(`${request.url} ${request.headers.authorization}`);
      response.writeHead(status).end(body);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    opened({ close: () => server.close() });
    const folder = opened(new TemporaryFolder());
    folder.file('ca.crt', authority.cert);
    folder.file('token', 'secret\n');
    folder.file('namespace', 'kube-system');
    const { port } = server.address() as AddressInfo;
    const env = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: `${port}` };
    return { lookup: () => lookupInApi('dns', env, folder.path), seen };
  };

  it('is asked with the account of the pod', async () => {
    const { lookup, seen } = await start(200, JSON.stringify({ spec: { clusterIP: 'fd00:0::a' } }));
    expect(await lookup()).toBe('fd00::a');
    expect(seen).toEqual(['/api/v1/namespaces/kube-system/services/dns Bearer secret']);
  });

  it.each([
    [403, '', 'the API server answers 403'],
    [200, '{"spec":{"clusterIP":"None"}}', 'service dns has no clusterIP'],
    [200, 'x'.repeat(100_000), 'an answer of more than 65536 bytes'],
  ])('says no address: %d %.20s', async (status, body, reason) => {
    const { lookup } = await start(status, body);
    await expect(lookup()).rejects.toThrow(reason);
  });

  it('is not asked without an account', async () => {
    const env = { KUBERNETES_SERVICE_HOST: '127.0.0.1' };
    await expect(lookupInApi('dns', env, '/nowhere')).rejects.toThrow('/nowhere/namespace');
  });
});
