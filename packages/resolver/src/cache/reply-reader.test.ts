import { describe, expect, it } from '@jest/globals';
import {
  addressRecords,
  encodeQuery,
  encodeReply,
  pointerLadders,
  type Response,
} from '@kube-dns/testkit';
import { FLAG, RCODE, readQuery, readUint16, TYPE, writeUint16 } from '@kube-dns/wire';
import fc from 'fast-check';
import { PLAIN_RULES } from '../testing/cached-answers.js';
import { AnswerCache } from './answer-cache.js';
import { type CachingRules, ReplyReader } from './reply-reader.js';
import {
  NAME,
  cname,
  address,
  soa,
  type Case,
  storedAnswer,
  chain,
} from '../../test/stored-replies.js';

describe('of a reply are cached', () => {
  it.each<[string, Response, string[], Case?]>([
    ['the records asked for', { answers: [address(NAME)] }, ['a.example A 10.0.0.1 30']],
    [
      'with an owner in another case',
      { answers: [address('A.EXAMPLE')] },
      ['a.example A 10.0.0.1 30'],
    ],
    [
      'with the CNAMEs that lead to them',
      { answers: [cname(NAME, 'b.x'), cname('b.x', 'c.x', 20), address('c.x', 10)] },
      ['a.example CNAME b.x 30', 'b.x CNAME c.x 20', 'c.x A 10.0.0.1 10'],
    ],
    [
      'in whatever order they come',
      { answers: [address('b.x'), cname(NAME, 'b.x')] },
      ['a.example CNAME b.x 30', 'b.x A 10.0.0.1 30'],
    ],
    [
      'and not what stands beside them',
      {
        answers: [
          address('other.example'),
          address(NAME),
          { type: 'TXT', ttl: 0, data: 'x' },
          cname(NAME, 'other.example'),
        ],
        authorities: [{ name: 'x.example', type: 'TXT', ttl: 1, data: 'x' }],
        additionals: [address('x.example')],
      },
      ['a.example A 10.0.0.1 30'],
    ],
    [
      'with one TTL for a set: the smallest',
      { answers: [...addressRecords(30, '10.0.0.1'), ...addressRecords(7, '10.0.0.2')] },
      ['a.example A 10.0.0.1 7', 'a.example A 10.0.0.2 7'],
    ],
    [
      'of type SRV',
      {
        answers: [
          { type: 'SRV', ttl: 30, data: { priority: 1, weight: 2, port: 3, target: 'b.example' } },
        ],
      },
      ['a.example SRV {"priority":1,"weight":2,"port":3,"target":"b.example"} 30'],
      { question: { type: 'SRV' } },
    ],
    [
      'of type PTR, all of them',
      {
        answers: [
          { type: 'PTR', ttl: 30, data: 'b.example' },
          { type: 'PTR', ttl: 30, data: 'c.example' },
        ],
      },
      ['a.example PTR b.example 30', 'a.example PTR c.example 30'],
      { question: { type: 'PTR' } },
    ],
    [
      'of a type that is to be cached, names in them uncompressed',
      { answers: [{ type: 'MX', ttl: 30, data: { preference: 1, exchange: 'b.a.example' } }] },
      ['a.example MX {"preference":1,"exchange":"b.a.example"} 30'],
      { question: { type: 'MX' }, rules: { isExtraType: (type) => type === TYPE.MX } },
    ],
  ])('%s', (...[, response, answers, more]) => {
    expect(storedAnswer(response, more)).toEqual({ rcode: 'NOERROR', answers, authorities: [] });
  });

  it('ten CNAMEs, and not eleven', () => {
    const answers = [...chain(10), address('n10.example')];
    expect(storedAnswer({ answers })?.answers).toHaveLength(11);
    expect(storedAnswer({ answers: [...chain(11), address('n11.example')] })).toBeUndefined();
  });
});

describe('nothing is cached of a reply that', () => {
  it.each<[string, Response, Case?]>([
    ['is empty', {}],
    ['is a failure', { rcode: RCODE.SERVFAIL, answers: [address(NAME)] }],
    ['is a refusal', { rcode: RCODE.REFUSED }],
    ['is cut', { isTruncated: true, answers: [address(NAME)] }],
    ['has records of another name only', { answers: [address('b.example')] }],
    ['leads elsewhere than its records', { answers: [cname(NAME, 'b.x'), address('c.x')] }],
    ['has a CNAME alone', { answers: [cname(NAME, 'b.example')] }],
    ['has a TTL of 0', { answers: [address(NAME), address(NAME, 0)] }],
    ['has a CNAME with a TTL of 0', { answers: [cname(NAME, 'b.x', 0), address('b.x')] }],
    ['has a TTL with the top bit', { answers: [address(NAME, 0x8000_0001)] }],
    ['goes in circles', { answers: [cname(NAME, 'b.x'), cname('b.x', NAME)] }],
    [
      'is of a type that is not cached',
      { answers: [address(NAME)] },
      { question: { type: 'ANY' } },
    ],
    [
      'is of another type that is not cached',
      { answers: [{ type: 'TXT', ttl: 30, data: 'x' }] },
      { question: { type: 'TXT' } },
    ],
    [
      'is to ANY, even where every type is cached',
      { answers: [address(NAME)] },
      { question: { type: 'ANY' }, rules: { isExtraType: () => true } },
    ],
    ['has records and says that there is no name', { rcode: 3, answers: [address(NAME)] }],
  ])('%s', (...[, response, more]) => {
    expect(storedAnswer(response, more)).toBeUndefined();
  });

  it.each([
    ['is unchecked', 2, FLAG.CD],
    ['is of another class', -16 + 2 + 2, 3 ^ 1],
    ['asked in another class', 12 + NAME.length + 2 + 2, 3 ^ 1],
  ])('%s', (_what, at, bits) => {
    const message = encodeReply(encodeQuery({ name: NAME }), { answers: [address(NAME)] });
    const offset = at < 0 ? message.length + at : at;
    writeUint16(message, offset, readUint16(message, offset) ^ bits);
    expect(new ReplyReader(PLAIN_RULES).read(message)).toBe(false);
  });
});

describe('a malformed reply', () => {
  const whole = encodeReply(encodeQuery({ name: NAME }), {
    answers: [...chain(2), address('n2.example')],
    authorities: [soa('example')],
  });

  it('is detected wherever it is cut', () => {
    const reader = new ReplyReader(PLAIN_RULES);
    const answersEnd = encodeReply(encodeQuery({ name: NAME }), {
      answers: [...chain(2), address('n2.example')],
    });
    for (let length = 12 + NAME.length + 6; length < answersEnd.length; length++) {
      expect(reader.read(whole.subarray(0, length))).toBe(false);
      expect(reader.isMalformed).toBe(true);
    }
  });

  it.each([
    ['an address of three bytes', [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 9, 0, 3, 1, 2, 3]],
    ['a CNAME that points to itself', [0xc0, 12, 0, 5, 0, 1, 0, 0, 0, 9, 0, 2, 0xc0, 39]],
    ['a CNAME with bytes after it', [0xc0, 12, 0, 5, 0, 1, 0, 0, 0, 9, 0, 4, 1, 65, 0, 0]],
    ['an owner that points forward', [0xc0, 60, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 1, 2, 3, 4]],
  ])('is one with %s', (_what, record) => {
    const query = readQuery(encodeQuery({ name: NAME }));
    const head = query.bytes.subarray(0, query.questionEnd);
    const message = Buffer.concat([head, Buffer.from(record)]);
    writeUint16(message, 2, FLAG.QR);
    writeUint16(message, 6, 1);
    const reader = new ReplyReader(PLAIN_RULES);
    expect(reader.read(message)).toBe(false);
    expect(reader.isMalformed).toBe(true);
  });

  it('never throws, or makes an answer that cannot be read', () => {
    const rules = { ...PLAIN_RULES, isExtraType: () => true, negativeTtlSeconds: 5 };
    const edit = fc.tuple(fc.nat(whole.length - 1), fc.nat(255));
    const mutated = fc.array(edit, { minLength: 1, maxLength: 12 }).map((edits) => {
      const message = Buffer.from(whole);
      for (const [at, byte] of edits) message[at] = byte;
      return message;
    });
    const random = fc
      .uint8Array({ minLength: 12, maxLength: 600 })
      .map((bytes) => Buffer.from(bytes));
    const reader = new ReplyReader(rules);
    const out = new Uint8Array(65_535);
    fc.assert(
      fc.property(fc.oneof(mutated, random), (message) => {
        const cache = new AnswerCache({ maxRecords: 100 });
        if (reader.read(message)) cache.store(reader.answer, () => true);
        for (const { message: shown } of cache.answers()) {
          const again = new ReplyReader(rules);
          again.read(Buffer.from(shown));
          expect(again.isMalformed).toBe(false);
        }
        cache.lookup(readQuery(encodeQuery({ name: NAME })), out);
      }),
      { numRuns: 2_000 },
    );
  });

  it('that is made to be slow, of up to 64 KiB, is read with a few looks at each byte', () => {
    const head = readQuery(encodeQuery({ name: NAME }));
    const question = head.bytes.subarray(0, head.questionEnd);
    // Each owner is nearly the wanted name, behind a pointer.
    const record = Buffer.from([0xc0, 12, 0, 5, 0, 1, 0, 0, 0, 9, 0, 2, 0xc0, 12]);
    const most = Math.floor((65_535 - question.length) / record.length);
    const readsOf = (count: number) => {
      const message = Buffer.concat([question, ...Array.from({ length: count }, () => record)]);
      writeUint16(message, 2, FLAG.QR);
      writeUint16(message, 6, count);
      let reads = 0;
      const counted = new Proxy(message, {
        get: (bytes, key) => {
          const value: unknown = Reflect.get(bytes, key);
          if (typeof value === 'number' && key !== 'length') reads++;
          return typeof value === 'function' ? (value.bind(bytes) as unknown) : value;
        },
      });
      expect(new ReplyReader(PLAIN_RULES).read(counted)).toBe(false);
      return reads;
    };
    const reads = readsOf(most);
    expect(reads).toBeLessThanOrEqual(2.5 * readsOf(most / 2));
    expect(reads).toBeLessThan(40 * 65_535);
  });
});

describe('a negative answer', () => {
  const nxdomain = { rcode: RCODE.NXDOMAIN, authorities: [soa('example')] };

  it('is cached with its SOA, whose owner and TTL stay', () => {
    expect(storedAnswer(nxdomain)).toMatchObject({ rcode: 'NXDOMAIN', answers: [] });
    expect(storedAnswer(nxdomain)?.authorities[0]).toMatch(
      /^example SOA .*"mname":"ns.example".* 60$/,
    );
    expect(storedAnswer({ authorities: [soa('example')] })).toMatchObject({ rcode: 'NOERROR' });
  });

  it.each<[string, number, number, number]>([
    ['the SOA’s minimum', 60, 5, 5],
    ['the SOA’s TTL', 4, 50, 4],
  ])('is cached for the TTL of %s, the smaller', (_what, ttl, minimum, expected) => {
    const reader = new ReplyReader(PLAIN_RULES);
    const authorities = [soa('example', ttl, minimum)];
    expect(reader.read(encodeReply(encodeQuery({ name: NAME }), { rcode: 3, authorities }))).toBe(
      true,
    );
    expect(reader.answer.lifetimeSeconds).toBe(expected);
  });

  it('NXDOMAIN is cached for any type, NODATA only where the records of the type would be', () => {
    expect(storedAnswer(nxdomain, { question: { type: 'TXT' } })).toMatchObject({
      rcode: 'NXDOMAIN',
    });
    const noData = { authorities: [soa('example')] };
    expect(storedAnswer(noData, { question: { type: 'TXT' } })).toBeUndefined();
    expect(storedAnswer(noData, { question: { type: 'SRV' } })).toBeDefined();
  });

  it('after CNAMEs is cached with them, and expires with the first of them', () => {
    const reply = { ...nxdomain, answers: [cname(NAME, 'b.example', 3)] };
    expect(storedAnswer(reply)).toMatchObject({
      rcode: 'NXDOMAIN',
      answers: ['a.example CNAME b.example 3'],
      authorities: [expect.stringMatching(/^example SOA/)],
    });
    const reader = new ReplyReader(PLAIN_RULES);
    reader.read(encodeReply(encodeQuery({ name: NAME }), reply));
    expect(reader.answer.lifetimeSeconds).toBe(3);
  });

  it.each<[string, Response, Partial<CachingRules>?]>([
    ['has no SOA', { rcode: RCODE.NXDOMAIN }],
    ['has the SOA of another zone', { rcode: 3, authorities: [soa('other')] }],
    ['has a SOA whose name ends alike', { rcode: 3, authorities: [soa('ample')] }],
    ['has a SOA in another place', { rcode: 3, additionals: [soa('example')] }],
    ['has a minimum of 0', { rcode: 3, authorities: [soa('example', 60, 0)] }],
    [
      'has a minimum of 0, floor or not',
      { rcode: 3, authorities: [soa('example', 60, 0)] },
      { minTtlSeconds: 9 },
    ],
    ['must not be cached', nxdomain, { cachesNegatives: false }],
    [
      'must not be cached, with or without CNAMEs',
      { ...nxdomain, answers: [cname(NAME, 'b.example')] },
      { cachesNegatives: false },
    ],
  ])('is not cached when it %s', (...[, response, rules = {}]) => {
    expect(storedAnswer(response, { rules })).toBeUndefined();
  });

  it('without SOA is cached for the time of the option', () => {
    const rules = { negativeTtlSeconds: 9 };
    expect(storedAnswer({ rcode: 3 }, { rules })).toEqual({
      rcode: 'NXDOMAIN',
      answers: [],
      authorities: [],
    });
    const reader = new ReplyReader({ ...PLAIN_RULES, ...rules });
    reader.read(encodeReply(encodeQuery({ name: NAME }), { rcode: 3 }));
    expect(reader.answer.lifetimeSeconds).toBe(9);
  });

  it('can be made of any reply', () => {
    const reader = new ReplyReader(PLAIN_RULES);
    const reply = encodeReply(encodeQuery({ name: NAME }), { answers: [address(NAME)] });
    expect(reader.readAsNxdomain(reply, 12)).toBe(true);
    expect(reader.answer).toMatchObject({ rcode: 3, type: 0, length: 0, lifetimeSeconds: 12 });
    expect(reader.readAsNxdomain(reply, 0)).toBe(false);
  });

  it.each([0, 1])('is none, and not cached, when OPT has upper bits of the rcode: %d', (upper) => {
    const reader = new ReplyReader({ ...PLAIN_RULES, negativeTtlSeconds: 9 });
    const reply = encodeReply(encodeQuery({ name: NAME, ednsBytes: 1232 }), {});
    reply[reply.length - 6] = upper;
    expect(reader.read(reply)).toBe(upper === 0);
    expect(reader.isMalformed).toBe(false);
    const positive = encodeReply(encodeQuery({ name: NAME, ednsBytes: 1232 }), {
      answers: [address(NAME)],
    });
    positive[positive.length - 6] = upper;
    expect(reader.read(positive)).toBe(upper === 0);
  });
});

describe('the bounds of cached TTLs', () => {
  it.each<[string, number, number, string[]]>([
    ['a ceiling', 0, 20, ['a.example CNAME b.x 20', 'b.x A 10.0.0.1 5']],
    ['a floor', 10, 0, ['a.example CNAME b.x 30', 'b.x A 10.0.0.1 10']],
    ['both, the floor above', 25, 20, ['a.example CNAME b.x 25', 'b.x A 10.0.0.1 25']],
  ])('%s', (_what, minTtlSeconds, maxTtlSeconds, answers) => {
    const reply = { answers: [cname(NAME, 'b.x'), address('b.x', 5)] };
    expect(storedAnswer(reply, { rules: { minTtlSeconds, maxTtlSeconds } })?.answers).toEqual(
      answers,
    );
  });

  it('a floor raises even a TTL of 0', () => {
    const seen = storedAnswer({ answers: [address(NAME, 0)] }, { rules: { minTtlSeconds: 10 } });
    expect(seen?.answers).toEqual(['a.example A 10.0.0.1 10']);
  });

  it('apply to negative answers, too', () => {
    const reader = new ReplyReader({ ...PLAIN_RULES, minTtlSeconds: 30, maxTtlSeconds: 40 });
    reader.read(
      encodeReply(encodeQuery({ name: NAME }), { rcode: 3, authorities: [soa('example')] }),
    );
    expect(reader.answer.lifetimeSeconds).toBe(30);
  });
});

describe('finding 5: a reply of 65 kB', () => {
  /** Reads it and gives how often one of its bytes is read, and how many records it has for the cache. */
  function readsOf(reply: Buffer): { reads: number; records: number } {
    let reads = 0;
    const counted = new Proxy<Uint8Array>(reply, {
      get: (bytes, key) => {
        const value: unknown = Reflect.get(bytes, key);
        if (typeof value === 'number' && key !== 'length') reads++;
        return typeof value === 'function' ? (value.bind(bytes) as unknown) : value;
      },
    });
    const reader = new ReplyReader(PLAIN_RULES);
    const isRead = reader.read(counted);
    return { reads, records: isRead ? reader.answer.setSize : 0 };
  }

  it.each(['pointers', 'labels'] as const)(
    'finding 5: whose owners lead through many %s costs little more than one whose owners are one name',
    (kind) => {
      const honest = readsOf(pointerLadders('none'));
      expect(honest.records).toBeGreaterThan(3_900);
      const hostile = readsOf(pointerLadders(kind));
      expect(hostile.records).toBe(0);
      expect(hostile.reads).toBeLessThan(2 * honest.reads);
    },
  );
});
