import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { deadServer, encodeReply, held, ScriptedNameServer, until } from '@kube-dns/testkit';

import { ask, ASK_TIMEOUT_MS, HostResolver, type Question, readReply } from '../src/ask.js';
import { addressRecord, txtRecord } from './replies.js';

let responder: ScriptedNameServer;
let closing: AbortController;
beforeEach(async () => {
  // Only the test advances the clock and ends timeouts; sockets go on.
  jest.useFakeTimers(held('performance', 'setTimeout', 'clearTimeout'));
  responder = await ScriptedNameServer.start(() => ({ answers: [addressRecord] }));
  closing = new AbortController();
});
afterEach(async () => {
  jest.useRealTimers();
  await responder.close();
});

/** Waits for the end of the two seconds, with nothing settled before. */
async function expectTimeout(asked: Promise<unknown>, message: string): Promise<void> {
  let settled = '';
  void asked.then(
    () => (settled = 'a reply'),
    (error: unknown) => (settled = String(error)),
  );
  await jest.advanceTimersByTimeAsync(ASK_TIMEOUT_MS - 1);
  expect(settled).toBe('');
  await jest.advanceTimersByTimeAsync(1);
  await expect(asked).rejects.toThrow(message);
}

const askFor = (question: Partial<Question>, resolver = new HostResolver()) =>
  ask(
    {
      server: { host: '127.0.0.1', port: responder.port },
      name: 'example.com.',
      type: 'A',
      class: 'IN',
      ...question,
    },
    resolver,
    closing.signal,
  );

describe('ask', () => {
  it('returns the reply to a question', async () => {
    const { answers } = await askFor({ type: 'SRV' });
    expect(responder.requests).toMatchObject([{ name: 'example.com', type: 'SRV' }]);
    expect(answers).toHaveLength(1);
  });

  it('asks in class CHAOS', async () => {
    responder.script = () => ({ answers: [txtRecord('42')] });
    const { answers } = await askFor({ name: 'hits.bind.', type: 'TXT', class: 'CH' });
    expect(answers[0]).toMatchObject({ type: 'TXT', class: 'CH', data: [Buffer.from('42')] });
  });

  it('asks a server that is given by name', async () => {
    const { answers } = await askFor({ server: { host: 'localhost', port: responder.port } });
    expect(answers).toHaveLength(1);
  });

  it('fails for a reply that is larger than allowed without EDNS', async () => {
    responder.script = () => ({ answers: Array.from({ length: 18 }, () => addressRecord) });
    await expect(askFor({})).rejects.toThrow(/the reply of 5\d\d bytes is larger than 512/);
  });

  it('parses no more than two answers', async () => {
    responder.script = () => ({ answers: Array.from({ length: 9 }, () => addressRecord) });
    expect((await askFor({})).answers).toHaveLength(2);
  });

  it('refuses a reply with several questions, each of which could be a long name', () => {
    const reply = Buffer.alloc(12 + 5 + 5);
    reply.writeUInt16BE(2, 4);
    expect(() => readReply(reply)).toThrow('the reply has more than one question');
  });

  it('fails immediately when no server listens', async () => {
    const { address: host, port } = await deadServer();
    await expect(askFor({ server: { host, port } })).rejects.toThrow('connection refused');
  });

  it.each([
    ['name', 13],
    ['type', -3],
    ['class', -1],
  ])('takes a reply whose question has another %s, as the original does', async (_what, at) => {
    responder.script = ({ query }) => {
      const other = Buffer.from(query);
      other[at < 0 ? other.length + at : at]! ^= 1;
      return [encodeReply(other, { answers: [addressRecord] })];
    };
    expect((await askFor({})).answers).toHaveLength(1);
  });

  it('ignores a malformed message and takes the reply that follows', async () => {
    responder.script = ({ query }) => [
      Buffer.from('not a DNS message'),
      encodeReply(query, { answers: [addressRecord] }),
    ];
    expect((await askFor({})).answers).toHaveLength(1);
  });

  it('fails after two seconds without a reply', async () => {
    responder.script = () => null;
    const asked = askFor({});
    await until(() => responder.requests.length === 1);
    await expectTimeout(asked, 'no reply within 2000 ms');
  });

  it('fails after two seconds when the name of the server is not resolved', async () => {
    const resolver = new HostResolver(() => new Promise(() => undefined));
    const asked = askFor({ server: { host: 'slow', port: 53 } }, resolver);
    await expectTimeout(asked, 'slow:53: name not resolved in time');
  });

  it('ends immediately and closes its socket when it is canceled', async () => {
    const sockets = () => process.getActiveResourcesInfo().filter((what) => /udp/i.test(what));
    responder.script = () => {
      closing.abort();
      return null;
    };
    await expect(askFor({})).rejects.toThrow('canceled');
    // No timeout of the exchange has ended: only the responder's socket is left.
    await until(() => sockets().length === 1);
    await expect(askFor({})).rejects.toThrow('aborted');
  });
});
