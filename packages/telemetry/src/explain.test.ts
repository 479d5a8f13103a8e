import { describe, expect, it } from '@jest/globals';
import { Trace } from '@kube-dns/base';
import {
  type Answerer,
  EXCHANGED,
  type ExchangeEvent,
  NO_ANSWER_YET,
  SOURCE,
} from '@kube-dns/transport';
import {
  AnswerWriter,
  EXTENDED_ERROR,
  extendedErrorOption,
  MAX_MESSAGE_BYTES,
  RCODE,
  SECTION,
  TYPE,
} from '@kube-dns/wire';
import { askTraced, exchangeSteps, explainPages } from './explain.js';
import { type ExplainedQuestion, readQuestion } from './explanation.js';

const SERVER = { address: '192.0.2.1', port: 53 };

function questionOf(text: string): ExplainedQuestion {
  const question = readQuestion(new URLSearchParams(text));
  if (typeof question === 'string') throw new Error(question);
  return question;
}

/** Answers with so many addresses. */
function answererOf(count: number): Answerer {
  const writer = new AnswerWriter();
  return {
    answer(query, out, client) {
      writer.begin(query, out, query.maxAnswerBytes);
      writer.setAuthoritative();
      const rdata = Uint8Array.of(10, 0, 0, 1);
      for (let i = 0; i < count; i++) writer.add(SECTION.ANSWER, undefined, TYPE.A, 30, rdata);
      client.answersFrom(SOURCE.ZONE);
      return writer.finish();
    },
  };
}

describe('asking an answerer', () => {
  it('shows the answer that a client gets, and where it came from', async () => {
    const { ms, ...answer } = await askTraced(answererOf(1), questionOf('name=Web.example'))
      .answered;
    expect(answer).toEqual({
      rcode: 'NOERROR',
      flags: ['aa', 'rd', 'ra'],
      answers: ['Web.example. 30 IN A 10.0.0.1'],
      authorities: [],
      ede: [],
      source: 'zone',
      server: null,
    });
    expect(ms).toBeGreaterThan(0);
  });

  it('asks again over TCP when the answer is truncated', async () => {
    const answer = await askTraced(answererOf(200), questionOf('name=web.example')).answered;
    expect(answer.answers).toHaveLength(200);
  });

  it('waits for an answer that comes later, with its Extended DNS Error and its server', async () => {
    const reason = extendedErrorOption(EXTENDED_ERROR.NO_REACHABLE_AUTHORITY, 'timeout');
    const writer = new AnswerWriter();
    const answerer: Answerer = {
      answer(query, _out, client) {
        const reply = client.defer();
        const message = new Uint8Array(MAX_MESSAGE_BYTES);
        writer.begin(query, message);
        writer.setRcode(RCODE.SERVFAIL, reason);
        const length = writer.finish();
        setImmediate(() => reply.send(message, length, SOURCE.UPSTREAM, SERVER));
        return NO_ANSWER_YET;
      },
    };
    expect(await askTraced(answerer, questionOf('name=web.example')).answered).toMatchObject({
      rcode: 'SERVFAIL',
      ede: [{ code: 22, text: 'timeout' }],
      source: 'upstream',
      server: '192.0.2.1#53',
    });
  });

  it('shows that a client gets no answer', async () => {
    const silent: Answerer = { answer: () => NO_ANSWER_YET };
    const answer = await askTraced(silent, questionOf('name=web.example')).answered;
    expect(answer).toMatchObject({ rcode: null, source: 'none' });
  });
});

describe('the page of explanations', () => {
  const explain = (question: ExplainedQuestion) =>
    Promise.resolve({ program: 'test', question: question.text, steps: [], verdict: {} as never });

  it('refuses what is no question, with the reason', async () => {
    const page = explainPages(explain).get('/explain')!;
    const errorOf = async (text: string) => {
      const { status, body } = await page(new URLSearchParams(text));
      return [status, (JSON.parse(body) as { error: string }).error];
    };
    expect(await errorOf('')).toEqual([400, 'name is missing: /explain?name=NAME&type=TYPE']);
    expect(await errorOf('name=a..b')).toEqual([400, 'name "a..b": empty label']);
    expect(await errorOf('name=a&type=B')).toEqual([400, 'type "B" is no record type']);
    expect(await errorOf('name=a&type=AXFR')).toEqual([400, 'a zone transfer is not one answer']);
    expect(await errorOf('name=a&client=b')).toEqual([400, 'client "b" is no IP address']);
    expect(await errorOf(`name=${'a.'.repeat(600)}`)).toEqual([400, 'name is too long']);
  });

  it('makes eight explanations at a time', async () => {
    let release!: () => void;
    const wait = new Promise<void>((resolve) => (release = resolve));
    const page = explainPages(async (question) => {
      await wait;
      return explain(question);
    }).get('/explain')!;
    const asked = Array.from({ length: 9 }, async () => await page(new URLSearchParams('name=a')));
    const last = await asked[8];
    expect(last?.status).toBe(429);
    release();
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 200, 200, 429]);
  });
});

describe('the servers that were asked', () => {
  it('are there with what became of each', () => {
    const trace = new Trace();
    const at = (last: number) => ({ address: `192.0.2.${last}`, port: 53 });
    const note = (event: ExchangeEvent) => trace.note(EXCHANGED, event);
    const sent = (last: number, atMs: number, isOverTcp = false) =>
      note({ event: 'sent', server: at(last), isOverTcp, atMs });
    const replied = (last: number, atMs: number, ms: number, rcode: number = RCODE.NOERROR) =>
      note({ event: 'replied', server: at(last), rcode, isCut: false, ms, atMs });
    sent(2, 100);
    sent(2, 100);
    note({ event: 'failed', server: at(2), reason: 'timeout', atMs: 1_100 });
    sent(2, 1_100);
    sent(1, 1_100);
    replied(1, 1_113, 12.345, RCODE.NXDOMAIN);
    sent(3, 1_100, true);
    sent(4, 1_100);
    note({ event: 'replied', server: at(4), rcode: 0, isCut: true, ms: 1, atMs: 1_101 });
    sent(4, 1_101, true);
    replied(4, 4_617, 3_000);
    replied(5, 4_617, 1);
    expect(exchangeSteps(trace, 4_617).map(({ text }) => text)).toEqual([
      '192.0.2.2#53 was asked 3 times over UDP: it did not reply in time after 4517 ms in all.',
      '192.0.2.1#53 was asked over UDP: it replied NXDOMAIN after 12.3 ms.',
      '192.0.2.3#53 was asked over TCP: it has not replied.',
      '192.0.2.4#53 was asked over UDP, where its reply was cut (TC), then over TCP: it replied NOERROR after 3517 ms in all.',
    ]);
  });
});
