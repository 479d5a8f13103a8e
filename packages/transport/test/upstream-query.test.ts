import { afterEach, describe, expect, it } from '@jest/globals';
import { decodeMessage, encodeQuery, FLAG, RCODE } from '@kube-dns/wire';
import type { ExchangeError } from '../src/errors.js';
import type { Exchange } from '../src/exchange.js';
import { type ServerAddress, serverText } from '../src/server-address.js';
import { askUpstream, type UpstreamQuery } from '../src/upstream-query.js';
import { lifetime, until } from './inbox.js';
import { replyTo } from './messages.js';
import { deadServer, NameServer, type Request } from './name-server.js';

const opened = lifetime(afterEach);
const query = encodeQuery({ id: 0x1234, name: 'wEb.x', type: 'A' });

type Script = (request: Request) => void;

const silent: Script = () => undefined;
const good: Script = ({ query: asked, send }) => send(replyTo(asked, { addresses: ['10.0.0.1'] }));
const refusing =
  (rcode: number): Script =>
  ({ query: asked, send }) =>
    send(replyTo(asked, { rcode }));
/** Truncated over UDP; over TCP as the other script does. */
const truncating =
  (overTcp: Script): Script =>
  (request) => {
    if (request.protocol === 'tcp') overTcp(request);
    else request.send(replyTo(request.query, { flags: FLAG.TC }));
  };

const serve = async (script: Script) => opened(await NameServer.open(script));

interface Outcome {
  readonly error: ExchangeError | null;
  readonly reply: Buffer | null;
  readonly server: ServerAddress;
  readonly ms: number;
  readonly attempts: (readonly [server: string, outcome: number | string])[];
}

function ask(
  servers: readonly ServerAddress[],
  options: Partial<UpstreamQuery> = {},
): Promise<Outcome> {
  const attempts: [string, number | string][] = [];
  const startedAt = performance.now();
  return new Promise((resolve) => {
    const request: UpstreamQuery = {
      query,
      servers,
      protocol: 'udp',
      deadlineMs: 2000,
      onAttempt: (server, outcome) => {
        attempts.push([serverText(server), typeof outcome === 'number' ? outcome : outcome.code]);
      },
      ...options,
    };
    askUpstream(request, (error, reply, server) => {
      resolve({ error, reply, server, attempts, ms: performance.now() - startedAt });
    });
  });
}

const text = (server: NameServer) => serverText(server.at);

describe('askUpstream', () => {
  it('gives back the reply of the first server and asks no other', async () => {
    const [first, second] = [await serve(good), await serve(good)];
    const { reply, server, attempts } = await ask([first.at, second.at]);
    expect(decodeMessage(reply!).answers).toMatchObject([{ data: '10.0.0.1' }]);
    expect(server).toEqual(first.at);
    expect(attempts).toEqual([[text(first), RCODE.NOERROR]]);
    expect(second.requests).toHaveLength(0);
  });

  it('asks with an ID of its own each time and leaves the query as it was', async () => {
    const server = await serve(silent);
    const before = Buffer.from(query);
    await ask([server.at, server.at, server.at, server.at], { deadlineMs: 800 });
    const ids = server.requests.map((request) => request.query.readUInt16BE(0));
    expect(new Set(ids).size).toBeGreaterThan(1);
    expect(Buffer.from(query)).toEqual(before);
    for (const request of server.requests) {
      expect(request.query.subarray(2)).toEqual(before.subarray(2));
    }
  });

  it.each([
    ['NXDOMAIN', RCODE.NXDOMAIN],
    ['FORMERR', RCODE.FORMERR],
    ['NOTIMP', RCODE.NOTIMP],
  ])('takes %s for an answer', async (_, rcode) => {
    const [first, second] = [await serve(refusing(rcode)), await serve(good)];
    const { attempts } = await ask([first.at, second.at]);
    expect(attempts).toEqual([[text(first), rcode]]);
  });

  it.each<[string, Script, number | string]>([
    ['is silent', silent, 'timeout'],
    ['says SERVFAIL', refusing(RCODE.SERVFAIL), RCODE.SERVFAIL],
    ['says REFUSED', refusing(RCODE.REFUSED), RCODE.REFUSED],
  ])('asks the next server when one %s', async (_, script, outcome) => {
    const [first, second] = [await serve(script), await serve(good)];
    const { reply, server, attempts } = await ask([first.at, second.at], { deadlineMs: 400 });
    expect(decodeMessage(reply!)).toMatchObject({ rcode: 'NOERROR' });
    expect(server).toEqual(second.at);
    expect(attempts).toEqual([
      [text(first), outcome],
      [text(second), RCODE.NOERROR],
    ]);
  });

  it('asks the next server at once when nobody listens at one', async () => {
    const [dead, second] = [await deadServer(), await serve(good)];
    const { server, ms } = await ask([dead, second.at]);
    expect(server).toEqual(second.at);
    expect(ms).toBeLessThan(900);
  });

  it('asks a lone server again when it is silent', async () => {
    const server = await serve((request) => {
      if (request.count > 0) good(request);
    });
    const { reply, attempts } = await ask([server.at], { deadlineMs: 400 });
    expect(reply).not.toBeNull();
    expect(attempts).toEqual([
      [text(server), 'timeout'],
      [text(server), RCODE.NOERROR],
    ]);
  });

  it('does not ask a lone server again when it has said no', async () => {
    const server = await serve(refusing(RCODE.REFUSED));
    const { reply } = await ask([server.at]);
    expect(decodeMessage(reply!).rcode).toBe('REFUSED');
    expect(server.requests).toHaveLength(1);
    const dead = await deadServer();
    expect((await ask([dead])).attempts).toEqual([[serverText(dead), 'refused']]);
  });

  it('keeps the deadline when all are silent', async () => {
    const [first, second] = [await serve(silent), await serve(silent)];
    const { error, reply, server, ms } = await ask([first.at, second.at, first.at], {
      deadlineMs: 240,
    });
    expect([error?.code, reply]).toEqual(['timeout', null]);
    expect(server).toEqual(first.at);
    expect(ms).toBeGreaterThanOrEqual(235);
    expect(ms).toBeLessThan(600);
    expect(first.requests).toHaveLength(2);
    expect(second.requests).toHaveLength(1);
  });

  it('reports the last error when no server is there', async () => {
    const dead = [await deadServer(), await deadServer()];
    const { error, server } = await ask(dead);
    expect(error).toMatchObject({ name: 'ExchangeError', code: 'refused' });
    expect(server).toEqual(dead[1]);
  });

  it('falls back on a refusal when no better reply comes, and says whose it is', async () => {
    const [first, second] = [await serve(refusing(RCODE.SERVFAIL)), await serve(silent)];
    const { error, reply, server } = await ask([first.at, second.at], { deadlineMs: 150 });
    expect(error).toBeNull();
    expect(decodeMessage(reply!).rcode).toBe('SERVFAIL');
    expect(server).toEqual(first.at);
  });

  it('falls back on the last refusal of several', async () => {
    const first = await serve(refusing(RCODE.SERVFAIL));
    const second = await serve(refusing(RCODE.REFUSED));
    const { reply, server } = await ask([first.at, second.at]);
    expect(decodeMessage(reply!).rcode).toBe('REFUSED');
    expect(server).toEqual(second.at);
  });
});

describe('askUpstream and a truncated reply', () => {
  it('fetches it again from the same server over TCP', async () => {
    const [first, second] = [await serve(truncating(good)), await serve(good)];
    const { reply, attempts } = await ask([first.at, second.at]);
    expect(decodeMessage(reply!)).toMatchObject({ isTruncated: false });
    expect(decodeMessage(reply!).answers).toHaveLength(1);
    expect(first.requests.map(({ protocol }) => protocol)).toEqual(['udp', 'tcp']);
    expect(attempts).toHaveLength(2);
    expect(second.requests).toHaveLength(0);
  });

  it('asks the next server when TCP fails', async () => {
    const first = await serve(truncating(({ socket }) => socket!.destroy()));
    const second = await serve(good);
    const { reply, server } = await ask([first.at, second.at]);
    expect(decodeMessage(reply!).isTruncated).toBe(false);
    expect(server).toEqual(second.at);
  });

  it('falls back on it when TCP fails everywhere', async () => {
    const server = await serve(truncating(({ socket }) => socket!.destroy()));
    const { reply } = await ask([server.at]);
    expect(decodeMessage(reply!).isTruncated).toBe(true);
  });

  it('prefers it to a refusal that comes later', async () => {
    const first = await serve(truncating(refusing(RCODE.SERVFAIL)));
    const second = await serve(refusing(RCODE.SERVFAIL));
    const { reply, server } = await ask([first.at, second.at]);
    expect(decodeMessage(reply!)).toMatchObject({ isTruncated: true, rcode: 'NOERROR' });
    expect(server).toEqual(first.at);
  });

  it('takes TC over TCP as it is', async () => {
    const server = await serve(({ query: asked, send }) =>
      send(replyTo(asked, { flags: FLAG.TC })),
    );
    const { reply } = await ask([server.at], { protocol: 'tcp' });
    expect(decodeMessage(reply!).isTruncated).toBe(true);
    expect(server.requests).toHaveLength(1);
  });
});

describe('askUpstream over TCP', () => {
  it('asks the next server when one closes the connection', async () => {
    const [first, second] = [await serve(({ socket }) => socket!.end()), await serve(good)];
    const { server, attempts } = await ask([first.at, second.at], { protocol: 'tcp' });
    expect(server).toEqual(second.at);
    expect(attempts[0]).toEqual([text(first), 'closed']);
  });

  it('waits the whole deadline for a lone server, and asks it once', async () => {
    const server = await serve(silent);
    const { error, ms } = await ask([server.at], { protocol: 'tcp', deadlineMs: 120 });
    expect(error?.code).toBe('timeout');
    expect(ms).toBeGreaterThanOrEqual(115);
    expect(server.requests).toHaveLength(1);
  });
});

describe('canceling askUpstream', () => {
  it('ends it without a word', async () => {
    const server = await serve(silent);
    let calls = 0;
    const request = { query, servers: [server.at], protocol: 'udp', deadlineMs: 60 } as const;
    const started = askUpstream(request, () => calls++);
    await until(() => server.requests.length === 1);
    started.cancel();
    started.cancel();
    await ask([server.at], { deadlineMs: 80 });
    expect(calls).toBe(0);
  });

  it('ends it too from inside onAttempt', async () => {
    const [first, second] = [await serve(refusing(RCODE.SERVFAIL)), await serve(good)];
    let calls = 0;
    const attempted = new Promise<void>((resolve) => {
      const started: Exchange = askUpstream(
        {
          query,
          servers: [first.at, second.at],
          protocol: 'udp',
          deadlineMs: 1000,
          onAttempt: () => {
            started.cancel();
            resolve();
          },
        },
        () => calls++,
      );
    });
    await attempted;
    await ask([first.at]);
    expect(calls).toBe(0);
    expect(second.requests).toHaveLength(0);
  });
});
