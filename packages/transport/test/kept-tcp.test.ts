import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ownedBy, type Script, ScriptedNameServer, until } from '@kube-dns/testkit';
import { type ServerAddress, serverText } from '../src/server-address.js';
import {
  addressesOf,
  addressOfName,
  askInTurn,
  askMany,
  closingAfter,
  EncryptedFixture,
  HeldAnswers,
} from './encrypted-fixture.js';

const opened = ownedBy(afterEach);

describe('a server that is asked over TCP connections that are kept', () => {
  let fixture: EncryptedFixture;

  beforeEach(() => {
    fixture = new EncryptedFixture('tls');
  });

  afterEach(() => fixture.close());

  const serve = async (script: Script) => {
    const server = opened(await ScriptedNameServer.start(script));
    const address: ServerAddress = { ...server.at, keepsTcp: true };
    return { server, address, upstream: fixture.servers.at(address) };
  };
  const connectionsOf = ({ requests }: ScriptedNameServer) =>
    new Set(requests.map(({ peer }) => peer.port)).size;

  it('gets all questions over one connection, in plain text, and answers them in any order', async () => {
    const held = new HeldAnswers();
    const { server, address, upstream } = await serve(held.script);
    expect(serverText(address)).toBe(`tcp://${server.text}`);
    const results = askMany(upstream.sockets, 40);
    await until(() => server.requests.length === 40);
    held.release();
    expect(await Promise.all(results)).toEqual(addressesOf(40));
    expect(server.requests.every(({ protocol }) => protocol === 'tcp')).toBe(true);
    expect(connectionsOf(server)).toBe(1);
    // The connection is kept: nothing ends it.
    fixture.sockets.encrypted.tick();
    expect(await Promise.all(askMany(upstream.sockets, 1))).toEqual(addressesOf(1));
    expect(connectionsOf(server)).toBe(1);
  });

  it('is asked again over another one when a connection is closed after some answers', async () => {
    const { server, upstream } = await serve((request) => {
      if (request.count === 5) {
        request.socket?.destroy();
        return null;
      }
      return addressOfName(request);
    });
    const results = await fixture.passUntil(Promise.all(askMany(upstream.sockets, 20)));
    expect(results).toEqual(addressesOf(20));
    expect(connectionsOf(server)).toBe(2);
  });

  it.each([
    [1, 20],
    [1, 40],
    [5, 8],
  ])(
    'loses none of 100 questions when it closes each connection after %i answers, %i at a time',
    async (most, clients) => {
      const { upstream } = await serve(closingAfter(most));
      const results = await fixture.passUntil(askInTurn(upstream.sockets, 100, clients));
      expect(results).toEqual(addressesOf(100));
    },
  );

  it('gets another connection at the greatest age of one, although that is in use', async () => {
    const { server, upstream } = await serve(addressOfName);
    upstream.encrypted!.maxAgeMs = 60_000;
    const seconds: number[] = [];
    for (let second = 0; second < 180; second += 5) {
      const before = connectionsOf(server);
      expect(await Promise.all(askMany(upstream.sockets, 1))).toEqual(addressesOf(1));
      if (connectionsOf(server) > before) seconds.push(second);
      fixture.wait(5_000);
    }
    // One lives for 45 to 60 s.
    expect(seconds[0]).toBe(0);
    const ages = seconds.slice(1).map((second, at) => second - seconds[at]!);
    expect(ages.length).toBeGreaterThanOrEqual(2);
    for (const age of ages) expect(age >= 45 && age <= 60).toBe(true);
  });

  it('answers over a connection that has reached its age what it was asked there', async () => {
    const held = new HeldAnswers();
    const { server, upstream } = await serve(held.script);
    const first = askMany(upstream.sockets, 3);
    await until(() => server.requests.length === 3);
    upstream.encrypted!.maxAgeMs = 10;
    fixture.wait(20);
    const second = askMany(upstream.sockets, 3, 3);
    await until(() => server.requests.length === 6);
    expect(connectionsOf(server)).toBe(2);
    held.release();
    expect(await Promise.all([...first, ...second])).toEqual(addressesOf(6));
    fixture.wait(20);
    await until(() => upstream.encrypted!.connections === 0);
  });

  it('fails at once when it closes each connection without an answer', async () => {
    const { server, upstream } = await serve((request) => {
      request.socket?.destroy();
      return null;
    });
    const results = await fixture.passUntil(Promise.all(askMany(upstream.sockets, 20)));
    for (const result of results) expect(result).toMatchObject({ code: 'closed' });
    expect(connectionsOf(server)).toBeLessThanOrEqual(4);
  });

  it('fails with the reason when its port is closed', async () => {
    const { server, upstream } = await serve(addressOfName);
    await server.close();
    const [result] = await Promise.all(askMany(upstream.sockets, 1));
    expect(result).toMatchObject({ code: 'refused' });
  });

  it('is connected to again within a quarter of a second however often that failed', async () => {
    const { server, upstream } = await serve(addressOfName);
    const { port } = server;
    await server.close();
    for (let failures = 0; failures < 8; failures++) {
      const [result] = await Promise.all(askMany(upstream.sockets, 1));
      expect(result).toMatchObject({ code: 'refused' });
      fixture.wait(250);
    }
    const again = opened(await ScriptedNameServer.start(addressOfName, { port }));
    expect(await Promise.all(askMany(upstream.sockets, 1))).toEqual(addressesOf(1));
    expect(again.requests).toHaveLength(1);
  });
});
