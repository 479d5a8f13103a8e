import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type EncryptedNameServer, ownedBy, TcpClient, until } from '@kube-dns/testkit';
import {
  addressesOf,
  addressOfName,
  ask,
  askMany,
  EncryptedFixture,
  HeldAnswers,
  plainQuery,
} from './encrypted-fixture.js';
import { silent } from './scripts.js';

const opened = ownedBy(afterEach);

/** Connections that a server has got; one of the test's own comes after them. */
async function connectionsOf(server: EncryptedNameServer): Promise<number> {
  opened(await TcpClient.connect(server.port));
  // What the system has accepted is accepted by the server in the next turn.
  for (let turn = 0; turn < 2; turn++) await new Promise(setImmediate);
  return server.accepted - 1;
}

describe.each(['tls', 'https'] as const)('an encrypted server, over %s', (protocol) => {
  let fixture: EncryptedFixture;
  let held: HeldAnswers;

  beforeEach(() => {
    fixture = new EncryptedFixture(protocol);
    held = new HeldAnswers();
  });

  afterEach(() => fixture.close());

  it('answers questions in any order over one connection', async () => {
    const server = await fixture.serve(held.script);
    const { sockets, encrypted } = fixture.at(server.port);
    const results = askMany(sockets, 40);
    await until(() => server.requests.length === 40);
    held.release();
    expect(await Promise.all(results)).toEqual(addressesOf(40));
    expect(server.accepted).toBe(1);
    expect(encrypted).toMatchObject({ connections: 1, handshakes: 1 });
    expect(encrypted!.certificateEndsAt * 1_000).toBeGreaterThan(Date.now());
  });

  it('has a second connection when the first is busy, a third when both are full, and no more', async () => {
    const server = await fixture.serve(held.script);
    const { sockets, encrypted } = fixture.at(server.port);
    const results = askMany(sockets, 45);
    await until(() => server.requests.length === 45);
    expect(server.accepted).toBe(1);
    results.push(...askMany(sockets, 10, 45));
    await until(() => encrypted?.connections === 2);
    results.push(...askMany(sockets, 345, 55));
    await until(() => server.requests.length === 300);
    expect(encrypted).toMatchObject({ connections: 3, handshakes: 3 });
    held.release();
    expect(await Promise.all(results)).toEqual(addressesOf(400));
    expect(server.accepted).toBe(3);
  });

  it('has a bounded queue of questions that wait for a connection', async () => {
    const server = await fixture.serve(held.script);
    const { sockets } = fixture.at(server.port);
    const results = askMany(sockets, 1_010);
    held.release();
    const refused = Array.from({ length: 10 }, () => undefined);
    expect(await Promise.all(results)).toEqual([...addressesOf(1_000), ...refused]);
  });

  it('gets what is under way on connections that are cut once more', async () => {
    const server = await fixture.serve(held.script);
    const { sockets } = fixture.at(server.port);
    const results = askMany(sockets, 250);
    await until(() => server.requests.length === 250);
    held.isHolding = false;
    server.cut();
    expect(await fixture.passUntil(Promise.all(results))).toEqual(addressesOf(250));
    // Each of them twice, and none more often than there were connections that were cut.
    expect(server.requests.length).toBeGreaterThanOrEqual(500);
  });

  it('is given up for a question whose new connection is cut, too', async () => {
    const server = await fixture.serve((request) => {
      setImmediate(() => server.cut());
      return silent(request);
    });
    const result = await fixture.passUntil(ask(fixture.at(server.port).sockets, 'n1'));
    expect(result).toMatchObject({ code: 'closed', failure: { code: 23, isSilence: true } });
    expect(server.names).toEqual(['n1', 'n1']);
  });

  it('resumes sessions with the ticket of the server', async () => {
    const server = await fixture.serve();
    const { sockets } = fixture.at(server.port);
    for (let i = 0; i < 3; i++) {
      expect(await ask(sockets, `n${i}`)).toBe(`10.0.0.${i}`);
      server.cut();
      await until(() => server.open === 0);
    }
    expect(server).toMatchObject({ handshakes: 3, resumed: 2 });
  });

  it('has its connection replaced when nothing arrives any more', async () => {
    const server = await fixture.serve();
    const { sockets, encrypted } = fixture.at(server.port);
    await ask(sockets, 'n0');
    server.freeze();
    const results = askMany(sockets, 20);
    // It is asked for a sign of life, and has as long for that.
    for (const ms of [500, 500]) fixture.wait(ms);
    expect(await Promise.all(results)).toEqual(addressesOf(20));
    expect(encrypted).toMatchObject({ connections: 1, handshakes: 2 });
  });

  it('keeps a connection on which single questions are slow', async () => {
    const server = await fixture.serve((request) =>
      request.question.name === 'slow' ? null : addressOfName(request),
    );
    const { sockets, encrypted } = fixture.at(server.port);
    await ask(sockets, 'n0');
    for (let i = 0; i < 120; i++) void ask(sockets, 'slow', plainQuery('slow'));
    for (let i = 0; i < 4; i++) {
      fixture.wait(500);
      // The sign of life arrives.
      await ask(sockets, 'n1');
    }
    expect(encrypted?.handshakes).toBeLessThanOrEqual(3);
    expect(await ask(sockets, 'n2')).toBe('10.0.0.2');
  });

  it('has no connection after 30 s without questions', async () => {
    const server = await fixture.serve();
    const { sockets } = fixture.at(server.port);
    await ask(sockets, 'n1');
    fixture.wait(29_900);
    expect(server.open).toBe(1);
    fixture.wait(200);
    await until(() => server.open === 0);
    expect(await ask(sockets, 'n2')).toBe('10.0.0.2');
  });

  it('is not connected to again until its pause is over', async () => {
    const server = await fixture.serve(addressOfName, undefined, { handshakeDelayMs: 60_000 });
    const { sockets } = fixture.at(server.port);
    const first = ask(sockets, 'n1');
    await until(() => server.accepted === 1);
    server.cut();
    expect(await first).toMatchObject({ code: 'handshake' });
    const second = ask(sockets, 'n2');
    fixture.wait(49);
    expect(await connectionsOf(server)).toBe(1);
    server.handshakeDelayMs = 0;
    fixture.wait(51);
    expect(await second).toBe('10.0.0.2');
  });

  it('gives a handshake five seconds', async () => {
    const server = await fixture.serve();
    server.handshakeDelayMs = 60_000;
    const { sockets } = fixture.at(server.port);
    let result: unknown;
    void ask(sockets, 'n1').then((given) => (result = given));
    await until(() => server.accepted === 1);
    fixture.wait(4_999);
    await new Promise(setImmediate);
    expect(result).toBeUndefined();
    fixture.wait(1);
    await until('the end', () => result !== undefined);
    expect(result).toMatchObject({ code: 'timeout' });
  });

  it('is one of two that are connected to at a time; one that is silent ends its turn', async () => {
    const names = Array.from({ length: 8 }, (_, i) => `dns${i}.example`);
    const server = await fixture.serve(addressOfName, { names }, { handshakeDelayMs: 60_000 });
    const all = names.map((name) => fixture.at(server.port, name));
    const results = all.map(({ sockets }, i) => ask(sockets, `n${i}`));
    await until(() => server.accepted === 2);
    fixture.wait(200);
    expect(await connectionsOf(server)).toBe(2);
    server.handshakeDelayMs = 0;
    fixture.wait(50);
    expect(await Promise.all(results.slice(2))).toEqual(addressesOf(6, 2));
    expect(all.map(({ encrypted }) => encrypted?.handshakes)).toEqual([0, 0, 1, 1, 1, 1, 1, 1]);
  });

  it('gets queries in multiples of 128 bytes', async () => {
    const server = await fixture.serve();
    const { sockets } = fixture.at(server.port);
    await ask(sockets, 'n1');
    await ask(sockets, `n2.${'x'.repeat(60)}.${'y'.repeat(60)}`);
    await ask(sockets, 'n3', plainQuery('n3'));
    const lengths = server.requests.map(({ query }) => query.length);
    expect(lengths).toEqual([128, 256, plainQuery('n3').length]);
  });

  it('has no connection any more when the sockets are closed', async () => {
    const server = await fixture.serve();
    const { sockets } = fixture.at(server.port);
    await ask(sockets, 'n1');
    fixture.sockets.close();
    await until(() => server.open === 0);
    expect(await ask(sockets, 'n2')).toBeUndefined();
  });

  it('answers what is under way when it is configured no more', async () => {
    const server = await fixture.serve(held.script);
    const { sockets } = fixture.at(server.port);
    const result = ask(sockets, 'n1');
    await until(() => server.requests.length === 1);
    fixture.servers.retain([]);
    expect(await ask(sockets, 'n2')).toBeUndefined();
    held.release();
    expect(await result).toBe('10.0.0.1');
    await until(() => server.open === 0);
  });
});
