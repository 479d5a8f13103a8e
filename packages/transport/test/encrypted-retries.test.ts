import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { encodeQuery, until } from '@kube-dns/testkit';
import {
  addressesOf,
  addressOfName,
  ask,
  askInTurn,
  closingAfter,
  EncryptedFixture,
} from './encrypted-fixture.js';

describe.each(['tls', 'https'] as const)('a question to a server over %s', (protocol) => {
  let fixture: EncryptedFixture;

  beforeEach(() => {
    fixture = new EncryptedFixture(protocol);
  });

  afterEach(() => fixture.close());

  /** Sends `n7`; `again` sends it once more. */
  const swallowed = (port: number) => {
    const results: string[] = [];
    const { sockets } = fixture.at(port);
    const sent = sockets.send(encodeQuery({ name: 'n7', ednsBytes: 1232 }), {
      onReply: (of, reply) => results.push(`${of === sent} ${reply.subarray(-4).join('.')}`),
      onUnreachable: (_sent, why) => results.push(why!.text),
    })!;
    return { results, again: () => sent.socket.resend(sent) };
  };

  it('is asked once more where it was swallowed, and the first reply counts', async () => {
    let count = 0;
    const server = await fixture.serve((request) => {
      if (request.question.name === 'n7' && count++ === 0) return null;
      return addressOfName(request);
    });
    const { results, again } = swallowed(server.port);
    await until(() => server.requests.length === 1);
    again();
    await until(() => results.length > 0);
    expect(results).toEqual(['true 10.0.0.7']);
    expect(server).toMatchObject({ names: ['n7', 'n7'], accepted: 1 });
  });

  it('that was sent twice has one reply, and is lost once', async () => {
    const releases: (() => void)[] = [];
    const server = await fixture.serve((request) => {
      releases.push(() => (addressOfName(request) as Uint8Array[]).forEach((m) => request.send(m)));
      return null;
    });
    const { results, again } = swallowed(server.port);
    await until(() => releases.length === 1);
    again();
    await until(() => releases.length === 2);
    for (const release of releases.splice(0)) release();
    // Comes after both replies.
    const next = ask(fixture.at(server.port).sockets, 'n1');
    await until(() => releases.length === 1);
    releases.pop()!();
    expect(await next).toBe('10.0.0.1');
    expect(results).toEqual(['true 10.0.0.7']);
    const lost = swallowed(server.port);
    await until(() => releases.length === 1);
    lost.again();
    await until(() => releases.length === 2);
    server.script = () => {
      setImmediate(() => server.cut());
      return null;
    };
    server.cut();
    await fixture.passUntilTrue(() => lost.results.length > 0);
    expect(lost.results).toHaveLength(1);
  });
});

describe('a server over TLS that closes its connections', () => {
  it.each([1, 5])('after %i answers loses none of 40 questions, 8 at a time', async (most) => {
    const fixture = new EncryptedFixture('tls');
    try {
      const server = await fixture.serve(closingAfter(most));
      const { sockets } = fixture.at(server.port);
      expect(await fixture.passUntil(askInTurn(sockets, 40, 8))).toEqual(addressesOf(40));
      expect(server.mostHandshakes).toBeLessThanOrEqual(2);
      fixture.sockets.close();
      await until(() => server.open === 0);
    } finally {
      await fixture.close();
    }
  });
});
