import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  encodeQuery,
  type EncryptedNameServer,
  ownedBy,
  ScriptedNameServer,
  UdpClient,
  until,
} from '@kube-dns/testkit';
import { FLAG, RCODE, readQuery, readUint16 } from '@kube-dns/wire';
import { QueryForwarder } from '../src/forward/forwarder.js';
import { retryPlan } from '../src/forward/contract.js';
import { ServerGroup, type ServerOrder } from '../src/forward/servers.js';
import type { UpstreamServer } from '../src/forward/servers.js';
import { ADDRESS, addressOfName, authority, EncryptedFixture } from './encrypted-fixture.js';
import { TIMEOUT_MS, WaitingClient } from './forwarder-fixture.js';
import { holdTimeouts } from './held-timers.js';
import { fails, truncated } from './scripts.js';

const opened = ownedBy(afterEach);
/** When a question without a reply is sent again. */
const RETRANSMISSION_MS = 1_000;
/** What a client waits for SERVFAIL where a server that has replied before is silent; and the clients after it. */
const DEAD_MS = 1_800;
const HOLD_MS = 100;

describe.each(['tls', 'https'] as const)('questions to servers over %s', (protocol) => {
  let fixture: EncryptedFixture;
  let forwarder: QueryForwarder;
  const out = new Uint8Array(65_535);

  beforeEach(() => {
    holdTimeouts();
    fixture = new EncryptedFixture(protocol);
    const plan = retryPlan(TIMEOUT_MS);
    const rules = { maxInFlight: 100, plan, maxUdpBytes: 1232, mixesCase: true };
    const now = () => fixture.nowMs;
    forwarder = new QueryForwarder({ ...rules, unsentRcode: RCODE.SERVFAIL, now });
  });

  afterEach(async () => {
    forwarder.close();
    await fixture.close();
    jest.useRealTimers();
  });

  const groupOf = (servers: readonly UpstreamServer[], order: ServerOrder = 'preferred') =>
    new ServerGroup('.', servers, order);
  const at = ({ port }: EncryptedNameServer) => fixture.at(port);

  const ask = async (group: ServerGroup, name: string, isOverTcp = false) => {
    const client = new WaitingClient();
    const query = readQuery(encodeQuery({ name, ednsBytes: 1232 }), isOverTcp);
    const length = forwarder.forward(query, out, client, group);
    if (length > 0) client.take(out.subarray(0, length));
    await fixture.passUntilTrue(
      () => client.answer !== undefined,
      () => forwarder.tick(),
    );
    return client;
  };

  /** Clients ask until one has an answer; failures are remembered for each name. */
  const isAnsweredAgain = (group: ServerGroup) => {
    let asked = 0;
    return until('an answer', async () => {
      fixture.wait(50);
      return (await ask(group, `again${asked++}`)).result.startsWith('A');
    });
  };

  /** What arrives at a port over plain UDP, to the end. */
  const datagramsAt = async (port: number) => {
    const received: string[] = [];
    const socket = createSocket('udp4', (bytes) => received.push(bytes.toString('latin1')));
    socket.bind(port, ADDRESS);
    await once(socket, 'listening');
    opened({ close: () => socket.close() });
    const last = opened(await UdpClient.connect(port));
    return async () => {
      last.send(Buffer.from('last'));
      await until('the last datagram', () => received.includes('last'));
      return received;
    };
  };

  it('are asked over that alone, for clients over UDP and TCP, and also when the reply is truncated', async () => {
    const server = await fixture.serve((request) =>
      request.question.name === 'cut' ? truncated(request) : addressOfName(request),
    );
    const datagrams = await datagramsAt(server.port);
    const group = groupOf([at(server)]);
    expect((await ask(group, 'n1')).result).toBe('A 10.0.0.1');
    expect((await ask(group, 'n2', true)).result).toBe('A 10.0.0.2');
    for (const isOverTcp of [false, true]) {
      const { bytes } = await ask(group, 'cut', isOverTcp);
      expect(readUint16(bytes, 2) & FLAG.TC).toBe(FLAG.TC);
    }
    expect(server.names).toEqual(['n1', 'n2', 'cut', 'cut']);
    expect(await datagrams()).toEqual(['last']);
    // What was padded comes back without padding, and with the spelling of the client.
    expect((await ask(group, 'n3')).bytes.length).toBeLessThan(100);
  });

  it('over TCP use it also when servers of both kinds serve a domain', async () => {
    const server = await fixture.serve();
    const plain = opened(await ScriptedNameServer.start(fails(RCODE.REFUSED)));
    const group = groupOf([fixture.servers.at(plain.at), at(server)], 'strict');
    const datagrams = await datagramsAt(server.port);
    expect((await ask(group, 'n7', true)).result).toBe('A 10.0.0.7');
    expect(plain.names).toHaveLength(1);
    expect(await datagrams()).toEqual(['last']);
  });

  it('fail with the cause and the server, at once for the next ones, until the certificate is good', async () => {
    const server = await fixture.serve(addressOfName, { names: [ADDRESS], toDays: -0.5 });
    const group = groupOf([at(server)]);
    for (const name of ['n1', 'n2', 'n3']) {
      const client = await ask(group, name);
      expect([client.result, client.extendedError]).toEqual(['SERVFAIL', 23]);
      const text = client.bytes.toString('latin1');
      expect(text).toContain('CERT_HAS_EXPIRED 127.0.0.1#');
    }
    expect(server.requests).toEqual([]);
    expect(at(server).health.isDown).toBe(true);
    server.show(authority.issue({ names: [ADDRESS] }));
    await isAnsweredAgain(group);
  });

  it('are not asked over a kept connection when its certificate has ended', async () => {
    const server = await fixture.serve(addressOfName, { names: [ADDRESS], toDays: 2 });
    const group = groupOf([at(server)]);
    expect((await ask(group, 'n1')).result).toBe('A 10.0.0.1');
    server.show(authority.issue({ names: [ADDRESS], toDays: -0.5 }));
    fixture.daysAhead = 1;
    fixture.wait(0);
    expect((await ask(group, 'n2')).result).toBe('A 10.0.0.2');
    fixture.daysAhead = 3;
    fixture.wait(0);
    const last = await ask(group, 'n3');
    expect(last.result).toBe('SERVFAIL');
    expect(last.bytes.toString('latin1')).toContain('CERT_HAS_EXPIRED 127.0.0.1#');
    expect(server).toMatchObject({ names: ['n1', 'n2'], handshakes: 1 });
  });

  it('fail soon when their server is silent that has replied before, and the next ones at once', async () => {
    let isSilent = false;
    const server = await fixture.serve((request) => (isSilent ? null : addressOfName(request)));
    const group = groupOf([at(server)]);
    expect((await ask(group, 'n1')).result).toBe('A 10.0.0.1');
    isSilent = true;
    fixture.wait(1);
    for (const limitMs of [DEAD_MS, HOLD_MS]) {
      const askedAtMs = fixture.nowMs;
      const client = await ask(group, `n${limitMs}`);
      expect([client.result, client.extendedError]).toEqual(['SERVFAIL', 22]);
      // By the clock of the test; the whole time-out is 4.5 s.
      expect(fixture.nowMs - askedAtMs).toBeLessThanOrEqual(limitMs);
    }
    isSilent = false;
    await isAnsweredAgain(group);
    // Probes, too.
    expect(server.requests.map(({ query }) => query.length % 128)).toEqual(
      server.requests.map(() => 0),
    );
  });

  it.each(['preferred', 'strict', 'all'] as const)(
    'go to the next server when the first has a wrong certificate, in order %s',
    async (order) => {
      const wrong = await fixture.serve(addressOfName, { names: ['127.0.0.9'] });
      const good = await fixture.serve();
      const group = groupOf([at(wrong), at(good)], order);
      for (let i = 0; i < 5; i++) expect((await ask(group, `n${i}`)).result).toBe(`A 10.0.0.${i}`);
      expect([wrong.names.length, good.names.length]).toEqual([0, 5]);
    },
  );

  it('do not wait for a slow handshake when another server can answer', async () => {
    const slow = await fixture.serve();
    slow.handshakeDelayMs = 60_000;
    const good = await fixture.serve();
    const group = groupOf([at(slow), at(good)], 'strict');
    for (let i = 0; i < 3; i++) {
      const askedAtMs = fixture.nowMs;
      expect((await ask(group, `n${i}`)).result).toBe(`A 10.0.0.${i}`);
      // By the clock of the test.
      expect(fixture.nowMs - askedAtMs).toBeLessThan(RETRANSMISSION_MS);
    }
    expect(slow.names).toEqual([]);
  });

  it('are answered by the other server while one is cut off all the time', async () => {
    const cutting = await fixture.serve(() => {
      setImmediate(() => cutting.cut());
      return null;
    });
    const good = await fixture.serve();
    const group = groupOf([at(cutting), at(good)], 'strict');
    for (let i = 0; i < 5; i++) expect((await ask(group, `n${i}`)).result).toBe(`A 10.0.0.${i}`);
  });
});
