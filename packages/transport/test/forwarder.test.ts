import { afterEach, describe, expect, it } from '@jest/globals';
import { decodeMessage, encodeQuery, RCODE } from '@kube-dns/wire';
import { Forwarder, type ForwarderOptions } from '../src/forwarder.js';
import { listen } from '../src/listener.js';
import type { ServerAddress } from '../src/server-address.js';
import { TcpClient, UdpClient } from './clients.js';
import { lifetime, until } from './inbox.js';
import { manyAddresses, replyTo, withOpt } from './messages.js';
import { deadServer, NameServer, type Request } from './name-server.js';

const opened = lifetime(afterEach);
const question = (id = 7) => encodeQuery({ id, name: 'wEb.x', type: 'A' });
const good = ({ query, send }: Request) => send(replyTo(query, { addresses: ['10.0.0.1'] }));

/** A listener that forwards everything to these servers. */
async function start(servers: readonly ServerAddress[], options: Partial<ForwarderOptions> = {}) {
  const forwarder = opened(new Forwarder({ maxInFlight: 10, deadlineMs: 1500, ...options }));
  const seen: Buffer[] = [];
  const listener = opened(
    await listen({
      address: '127.0.0.1',
      port: 0,
      answerer: {
        answer: (query, out, client) =>
          forwarder.forward(query, out, client, servers, (reply) => seen.push(Buffer.from(reply))),
      },
      onFailure: (error) => {
        throw error;
      },
    }),
  );
  const client = opened(await UdpClient.connect(listener.port));
  return { forwarder, listener, client, seen };
}

const serve = async (script: (request: Request) => void) => opened(await NameServer.open(script));

describe('Forwarder', () => {
  it("passes a query on and the reply back with the client's ID and spelling", async () => {
    const server = await serve(good);
    const { forwarder, client } = await start([server.at]);
    expect(decodeMessage(await client.ask(question(4321)))).toMatchObject({
      id: 4321,
      questions: [{ name: 'wEb.x' }],
      answers: [{ data: '10.0.0.1' }],
    });
    expect(forwarder).toMatchObject({ forwarded: 1, overflows: 0, failures: 0, inFlight: 0 });
  });

  it('shows the reply as it came', async () => {
    const server = await serve(good);
    const { client, seen } = await start([server.at]);
    await client.ask(question(1));
    const [asked] = server.requests;
    expect(seen).toEqual([replyTo(asked!.query, { addresses: ['10.0.0.1'] })]);
  });

  it('cuts a reply to what the client takes', async () => {
    const server = await serve(({ query, send }) =>
      send(replyTo(query, { addresses: manyAddresses(60) })),
    );
    const { client } = await start([server.at]);
    const reply = await client.ask(question());
    expect(reply.length).toBeLessThanOrEqual(512);
    expect(decodeMessage(reply).isTruncated).toBe(true);
  });

  it('asks over TCP for a client that came over TCP', async () => {
    const server = await serve(good);
    const { listener } = await start([server.at]);
    const client = opened(await TcpClient.connect(listener.port));
    expect(decodeMessage(await client.ask(question(9))).id).toBe(9);
    expect(server.requests.map(({ protocol }) => protocol)).toEqual(['tcp']);
  });

  it('answers SERVFAIL when no server does', async () => {
    const { forwarder, client } = await start([await deadServer()]);
    const reply = decodeMessage(await client.ask(withOpt(question(3), 1232)));
    expect(reply).toMatchObject({ id: 3, rcode: 'SERVFAIL', questions: [{ name: 'wEb.x' }] });
    expect(reply.additionals).toMatchObject([{ type: 'OPT' }]);
    expect(forwarder).toMatchObject({ failures: 1, inFlight: 0 });
  });

  it('answers SERVFAIL within the deadline when the servers are silent', async () => {
    const server = await serve(() => undefined);
    const { client } = await start([server.at], { deadlineMs: 100 });
    expect(decodeMessage(await client.ask(question())).rcode).toBe('SERVFAIL');
  });

  it('answers SERVFAIL for a reply that breaks off', async () => {
    const server = await serve(({ query, send }) => {
      send(replyTo(query, { addresses: ['10.0.0.1'] }).subarray(0, -2));
    });
    const { client } = await start([server.at]);
    expect(decodeMessage(await client.ask(question(5)))).toMatchObject({
      id: 5,
      rcode: 'SERVFAIL',
    });
  });

  it('refuses at once without a server', async () => {
    const { forwarder, client } = await start([]);
    expect(decodeMessage(await client.ask(question(6)))).toMatchObject({ id: 6, rcode: 'REFUSED' });
    expect(forwarder).toMatchObject({ forwarded: 0, overflows: 0 });
  });

  it('refuses at once what is one too many, and takes more when one is done', async () => {
    const held: Request[] = [];
    const server = await serve((request) => void held.push(request));
    const { forwarder, client } = await start([server.at], { maxInFlight: 2 });
    client.send(question(1));
    client.send(question(2));
    await until(() => held.length === 2);
    expect(forwarder.isFull()).toBe(true);
    expect(decodeMessage(await client.ask(question(3)))).toMatchObject({ id: 3, rcode: 'REFUSED' });
    expect(forwarder).toMatchObject({ forwarded: 2, overflows: 1, inFlight: 2 });
    good(held[0]!);
    await client.inbox.next();
    client.send(question(4));
    await until(() => held.length === 3);
  });

  it('tells of each attempt', async () => {
    const outcomes: unknown[] = [];
    const [first, second] = [await serve(refuse), await serve(good)];
    const onAttempt: ForwarderOptions['onAttempt'] = (server, outcome) => {
      outcomes.push([server.port, outcome]);
    };
    const { client } = await start([first.at, second.at], { onAttempt });
    await client.ask(question());
    expect(outcomes).toEqual([
      [first.port, RCODE.REFUSED],
      [second.port, RCODE.NOERROR],
    ]);
  });

  it('asks a question of its own', async () => {
    const server = await serve(good);
    const { forwarder } = await start([]);
    const reply = await new Promise<Buffer | null>((resolve) => {
      forwarder.ask(question(), false, [server.at], resolve);
    });
    expect(decodeMessage(reply!).answers).toHaveLength(1);
  });

  it('ends what is under way when it is closed, twice if need be', async () => {
    const server = await serve(() => undefined);
    const { forwarder, client } = await start([server.at]);
    client.send(question());
    await until(() => server.requests.length === 1);
    forwarder.close();
    forwarder.close();
    expect(forwarder.inFlight).toBe(0);
  });
});

function refuse({ query, send }: Request): void {
  send(replyTo(query, { rcode: RCODE.REFUSED }));
}
