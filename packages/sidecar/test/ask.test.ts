import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { deadServer, held, until } from '@kube-dns/testkit';

import { ask, ASK_TIMEOUT_MS, HostResolver, type Question, readReply } from '../src/ask.js';
import { addressRecord, renderReply, Responder, txtRecord } from './responder.js';

let responder: Responder;
let closing: AbortController;
beforeEach(async () => {
  // Only the test advances the clock and ends timeouts; sockets go on.
  jest.useFakeTimers(held('performance', 'setTimeout', 'clearTimeout'));
  responder = await new Responder(() => [addressRecord]).start();
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
    { server: responder.server, name: 'example.com.', type: 'A', class: 'IN', ...question },
    resolver,
    closing.signal,
  );

describe('ask', () => {
  it('returns the reply to a question', async () => {
    const { answers } = await askFor({ type: 'SRV' });
    expect(responder.asked).toEqual([{ name: 'example.com', type: 'SRV' }]);
    expect(answers).toHaveLength(1);
  });

  it('asks in class CHAOS', async () => {
    responder.respond = () => [txtRecord('42')];
    const { answers } = await askFor({ name: 'hits.bind.', type: 'TXT', class: 'CH' });
    expect(answers[0]).toMatchObject({ type: 'TXT', class: 'CH', data: [Buffer.from('42')] });
  });

  it('asks a server that is given by name', async () => {
    const { answers } = await askFor({ server: { host: 'localhost', port: responder.port } });
    expect(answers).toHaveLength(1);
  });

  it('fails for a reply that is larger than allowed without EDNS', async () => {
    responder.respond = () => Array.from({ length: 31 }, () => addressRecord);
    await expect(askFor({})).rejects.toThrow(/the reply of 5\d\d bytes is larger than 512/);
  });

  it('parses no more than two answers', async () => {
    responder.respond = () => Array.from({ length: 9 }, () => addressRecord);
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
    responder.respond = (_asked, query) => {
      const other = Buffer.from(query);
      other[at < 0 ? other.length + at : at]! ^= 1;
      return [renderReply(other, [addressRecord])];
    };
    expect((await askFor({})).answers).toHaveLength(1);
  });

  it('ignores a malformed message and takes the reply that follows', async () => {
    responder.respond = (_asked, query) => [
      Buffer.from('not a DNS message'),
      renderReply(query, [addressRecord]),
    ];
    expect((await askFor({})).answers).toHaveLength(1);
  });

  it('fails after two seconds without a reply', async () => {
    responder.respond = () => null;
    const asked = askFor({});
    await until(() => responder.asked.length === 1);
    await expectTimeout(asked, 'no reply within 2000 ms');
  });

  it('fails after two seconds when the name of the server is not resolved', async () => {
    const resolver = new HostResolver(() => new Promise(() => undefined));
    const asked = askFor({ server: { host: 'slow', port: 53 } }, resolver);
    await expectTimeout(asked, 'slow:53: name not resolved in time');
  });

  it('ends immediately and closes its socket when it is canceled', async () => {
    const sockets = () => process.getActiveResourcesInfo().filter((what) => /udp/i.test(what));
    responder.respond = () => {
      closing.abort();
      return null;
    };
    await expect(askFor({})).rejects.toThrow('canceled');
    // No timeout of the exchange has ended: only the responder's socket is left.
    await until(() => sockets().length === 1);
    await expect(askFor({})).rejects.toThrow('aborted');
  });
});
