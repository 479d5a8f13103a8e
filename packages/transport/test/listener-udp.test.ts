import { afterEach, describe, expect, it } from '@jest/globals';
import { ownedBy } from '@kube-dns/testkit';
import { decodeMessage, decodeName, RCODE } from '@kube-dns/wire';
import { type AnswerObserver, NO_ANSWER_YET, SOURCE } from '../src/answerer.js';
import { ENGINES } from './engines.js';
import { itOverIPv6 } from './ipv6.js';
import { answerWith, manyAddresses, replyTo, withOpt } from './messages.js';
import { answers, oneAddress, question, starter } from './udp-listener.js';

const opened = ownedBy(afterEach);

describe.each(ENGINES)('a listener with the engine %s', (name, engine) => {
  const start = starter(opened, engine);

  it('says which engine it has', async () => {
    const { listener } = await start(oneAddress);
    expect(listener.engine).toBe(name);
  });

  it('answers a query', async () => {
    const { listener, client } = await start(oneAddress);
    const reply = decodeMessage(await client.ask(question('wEb.x', 4321)));
    expect(reply).toMatchObject({
      id: 4321,
      rcode: 'NOERROR',
      questions: [{ name: 'wEb.x' }],
      answers: [{ data: '10.0.0.1' }],
    });
    expect(listener.counters).toMatchObject({ udpQueries: 1, tcpQueries: 0, answers: 1 });
  });

  it('counts answers by rcode, at once or later', async () => {
    const { listener, client } = await start(
      answers((query, out, from) => {
        const message = replyTo(Buffer.from(query.bytes.subarray(0, query.length)));
        message[3] = query.id & 0xf;
        if (query.id < 16) {
          from.defer().send(message, message.length);
          return NO_ANSWER_YET;
        }
        out.set(message);
        return message.length;
      }),
    );
    for (const id of [3, 16 + 3, 16 + 2, 0]) await client.ask(question('web.x', id));
    expect([...listener.counters.rcodes.subarray(0, 5)]).toEqual([1, 0, 1, 2, 0]);
  });

  itOverIPv6('answers over IPv6', async () => {
    const { client } = await start(oneAddress, { address: '::1' });
    expect(decodeMessage(await client.ask(question())).answers).toHaveLength(1);
  });

  it('tells the answerer who asks', async () => {
    const seen: string[] = [];
    const { client } = await start(
      answers((query, out, from) => {
        seen.push(from.address);
        return answerWith(query, out, []);
      }),
    );
    await client.ask(question());
    expect(seen).toEqual(['127.0.0.1']);
  });

  it('answers a burst, each query with its own answer', async () => {
    const { client } = await start(
      answers((query, out) => answerWith(query, out, [`10.0.0.${query.id}`])),
    );
    for (let id = 0; id < 100; id++) client.send(question('web.x', id));
    const replies = (await client.inbox.take(100)).map(decodeMessage);
    const ids = replies.map(({ id }) => id);
    expect(ids.sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, id) => id));
    for (const { id, answers: records } of replies) {
      expect(records).toMatchObject([{ data: `10.0.0.${id}` }]);
    }
  });

  describe('and a message that it does not answer', () => {
    const header = (flags: number, ...counts: number[]) => {
      const bytes = Buffer.alloc(12);
      [0x2211, flags, ...counts].forEach((word, i) => bytes.writeUInt16BE(word, i * 2));
      return bytes;
    };

    it('refuses a malformed one with FORMERR and nothing but a header', async () => {
      const { listener, client } = await start(oneAddress);
      expect(await client.ask(header(0x0100, 1))).toEqual(header(0x8101));
      expect(listener.counters.formErrors).toBe(1);
    });

    it('outsider 2: a datagram of more than 4,096 bytes is refused with FORMERR', async () => {
      const { listener, client } = await start(oneAddress);
      const long = (length: number) => Buffer.concat([question()], length);
      for (const length of [4_097, 4_221, 60_021]) {
        const reply = await client.ask(long(length));
        expect([reply.length, reply[3]! & 0xf]).toEqual([12, 1]);
      }
      expect(listener.counters.formErrors).toBe(3);
      expect(decodeMessage(await client.ask(long(4_096))).answers).toHaveLength(1);
    });

    it('refuses another opcode with NOTIMP and echoes the opcode', async () => {
      const { listener, client } = await start(oneAddress);
      expect(await client.ask(header(0x2900, 0))).toEqual(header(0xa904));
      expect(listener.counters.notImplemented).toBe(1);
    });

    it('refuses an EDNS version with BADVERS and an OPT record', async () => {
      const { listener, client } = await start(oneAddress);
      const reply = decodeMessage(await client.ask(withOpt(question(), 1232, 1)));
      expect(reply).toMatchObject({
        rcode: 'NOERROR',
        questions: [{ name: 'web.x' }],
        answers: [],
      });
      expect(reply.additionals).toMatchObject([{ type: 'OPT', extendedRcode: 1, ednsVersion: 0 }]);
      expect(listener.counters.badVersions).toBe(1);
    });

    it('shows what it refuses to the observer if there is a question to read', async () => {
      const seen: unknown[] = [];
      let asked = '';
      const observer: AnswerObserver = {
        begin: ({ name: wire, nameLength, flags, type }) => {
          asked = `${decodeName(wire.subarray(0, nameLength))} ${type} opcode ${(flags >> 11) & 15}`;
        },
        answered: (message, length, source) => {
          const [opt] = decodeMessage(message.slice(0, length)).additionals;
          const upper = opt?.type === 'OPT' ? opt.extendedRcode : 0;
          seen.push([asked, (upper << 4) | (message[3]! & 15), source]);
        },
        retain: () => ({ answered: () => undefined }),
      };
      const { client } = await start(oneAddress, { observer });
      const ofOpcode = (opcode: number, bytes: Uint8Array) => {
        const message = Buffer.from(bytes);
        message[2] = opcode << 3;
        return message;
      };
      await client.ask(withOpt(question('version.x'), 1232, 1));
      await client.ask(ofOpcode(2, question('status.x')));
      await client.ask(ofOpcode(2, header(0, 0)));
      await client.ask(ofOpcode(2, question('cut.x').subarray(0, 14)));
      await client.ask(header(0x0100, 0));
      await client.ask(header(0x0100, 2));
      expect(seen).toEqual([
        ['version.x 1 opcode 0', RCODE.BADVERS, SOURCE.LOCAL],
        ['status.x 1 opcode 2', RCODE.NOTIMP, SOURCE.LOCAL],
      ]);
    });

    it('is silent about responses and what is shorter than a header', async () => {
      const { listener, client } = await start(oneAddress);
      client.send(replyTo(question('x', 1)));
      client.send(question('x', 2).subarray(0, 11));
      client.send(Buffer.alloc(0));
      // The first to be answered is the last one.
      expect(decodeMessage(await client.ask(question('x', 3))).id).toBe(3);
      expect(listener.counters).toMatchObject({ udpQueries: 4, dropped: 3, answers: 1 });
    });
  });

  describe('and an answer that is large', () => {
    const many = answers((query, out) => answerWith(query, out, manyAddresses(300)));

    it.each([
      ['512 bytes without EDNS', question(), 512],
      ['512 bytes for an EDNS size below', withOpt(question(), 100), 512],
      ['the EDNS size', withOpt(question(), 1000), 1000],
      ['its own limit for an EDNS size above', withOpt(question(), 4096), 1232],
    ])('cuts it to %s and sets TC', async (_, query, size) => {
      const { listener, client } = await start(many);
      const reply = await client.ask(query);
      expect(reply.length).toBeLessThanOrEqual(size);
      expect(reply.length).toBeGreaterThan(size - 16);
      expect(decodeMessage(reply).isTruncated).toBe(true);
      expect(listener.counters.truncated).toBe(1);
    });

    it('has the limit that it was given', async () => {
      const { client } = await start(many, { maxUdpBytes: 3000 });
      const reply = await client.ask(withOpt(question(), 4096));
      expect(reply.length).toBeLessThanOrEqual(3000);
      expect(reply.length).toBeGreaterThan(3000 - 16);
    });

    it('counts one that the answerer has cut itself', async () => {
      const cut = answers((query, out) => {
        const length = answerWith(query, out, manyAddresses(1));
        out[2]! |= 0x02; // TC
        return length;
      });
      const { listener, client } = await start(cut);
      await client.ask(question());
      expect(listener.counters.truncated).toBe(1);
    });

    it('leaves one whole that just fits', async () => {
      // 23 bytes of header and question, then 16 for each record.
      const { listener, client } = await start(
        answers((query, out) => answerWith(query, out, manyAddresses(30))),
      );
      const reply = await client.ask(withOpt(question(), 503));
      expect(reply).toHaveLength(503);
      expect(decodeMessage(reply).isTruncated).toBe(false);
      expect(listener.counters.truncated).toBe(0);
    });
  });

  it('answers SERVFAIL for an answerer that throws, and lives on', async () => {
    const defect = new Error('defect');
    const { listener, client, failures } = await start(
      answers((query, out) => {
        if (query.id === 1) throw defect;
        return answerWith(query, out, ['10.0.0.1']);
      }),
    );
    expect(decodeMessage(await client.ask(question('wEb.x', 1)))).toMatchObject({
      id: 1,
      rcode: 'SERVFAIL',
      questions: [{ name: 'wEb.x' }],
    });
    expect(failures).toEqual([defect]);
    expect(listener.counters.failures).toBe(1);
    expect(decodeMessage(await client.ask(question('web.x', 2))).rcode).toBe('NOERROR');
  });
});
