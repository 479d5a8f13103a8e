import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { SOURCE } from '@kube-dns/transport';
import {
  addressText,
  decodeName,
  encodeName,
  encodeQuery,
  extendedErrorOption,
  MAX_NAME_BYTES,
  RCODE,
} from '@kube-dns/wire';
import { answerTo, observed, type ObservedFields } from '../test/observed.js';
import { AnswerFacts, JsonLines, LineWriter, putTextLine } from './lines.js';

const QUERY = encodeQuery({ id: 7, name: 'WWW.example.org', type: 'A' });
const OPT = Buffer.from([0, 0, 41, 16, 0, 0, 0, 0x80, 0, 0, 0]);
const SERVER = { address: '192.0.2.53', port: 53 };
const AT = Date.UTC(2026, 10, 22, 22, 34, 5, 7);

/** The query with one more record. */
function withAdditional(query: Uint8Array, record: Uint8Array): Buffer {
  const longer = Buffer.concat([query, record]);
  longer.writeUInt16BE(longer.readUInt16BE(10) + 1, 10);
  return longer;
}

function questionOf(name: Uint8Array, type: number): Buffer {
  const fixed = Buffer.alloc(4);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(1, 2);
  return Buffer.concat([Buffer.from('000701000001000000000000', 'hex'), name, fixed]);
}

function lineOf(
  fields: ObservedFields,
  put: (line: LineWriter, facts: AnswerFacts) => void,
): string {
  const line = new LineWriter();
  const facts = new AnswerFacts();
  const { message } = fields;
  if (message !== undefined) facts.read(message, message.length);
  const bytes = new Uint8Array(4_096);
  line.start(bytes, 0);
  put(line, facts);
  return Buffer.from(bytes.subarray(0, line.at)).toString('latin1');
}

const textOf = (fields: ObservedFields): string =>
  lineOf(fields, (line, facts) => putTextLine(line, observed(fields), facts));
const jsonText = (fields: ObservedFields): string =>
  lineOf(fields, (line, facts) => new JsonLines().put(line, observed(fields), facts, AT));
const jsonOf = (fields: ObservedFields) => JSON.parse(jsonText(fields)) as Record<string, unknown>;

/** A name of any bytes, in wire form. */
const anyName = fc
  .array(fc.uint8Array({ minLength: 1, maxLength: 63 }), { maxLength: 8 })
  .map((labels) => Buffer.concat(labels.map((label) => Buffer.from([label.length, ...label]))))
  .filter((labels) => labels.length < MAX_NAME_BYTES)
  .map((labels) => Buffer.concat([labels, Buffer.alloc(1)]));

describe('a line of the query log as text', () => {
  it('is CoreDNS’s common format', () => {
    expect(textOf({ query: QUERY, message: answerTo(QUERY), ms: 0.163406 })).toBe(
      '192.0.2.1:40000 - 7 "A IN www.example.org. udp 33 false 512" NOERROR qr,rd,ra 33 0.000163406s\n',
    );
  });

  it('has brackets around an IPv6 address, and what a client with EDNS asks for', () => {
    const query = withAdditional(QUERY, OPT);
    const message = answerTo(query, RCODE.BADVERS);
    expect(textOf({ query, message, client: '2001:db8::1', ms: 1_500 })).toBe(
      '[2001:db8::1]:40000 - 7 "A IN www.example.org. udp 44 true 4096" BADVERS qr,rd,ra 44 1.5s\n',
    );
  });

  it('has dashes where there was no answer, and tcp with all that fits a message', () => {
    expect(textOf({ query: QUERY, isOverTcp: true, ms: 5_000 })).toBe(
      '192.0.2.1:40000 - 7 "A IN www.example.org. tcp 33 false 65535" - - 0 5s\n',
    );
  });

  it.each([
    [0, 'None'],
    [65, 'HTTPS'],
    [38, 'TYPE38'],
    [65_280, 'TYPE65280'],
    [65_535, 'Reserved'],
  ])('names type %d as CoreDNS does: %s', (type, name) => {
    const query = questionOf(encodeName('a.test'), type);
    expect(textOf({ query, message: answerTo(query) })).toContain(`"${name} IN a.test. udp`);
  });

  it('finds the size that is asked for behind another record, too', () => {
    const other = Buffer.from([1, 97, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 1, 2, 3, 4]);
    const query = withAdditional(withAdditional(QUERY, other), OPT);
    expect(textOf({ query, message: answerTo(query) })).toContain(' true 4096"');
  });

  it('escapes every byte of a name as CoreDNS does', () => {
    const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    const labels = Array.from({ length: 5 }, (_, i) => all.subarray(i * 52, (i + 1) * 52));
    const texts = labels.map((label) => {
      const name = Buffer.concat([Buffer.from([label.length]), label, Buffer.alloc(1)]);
      const query = questionOf(name, 1);
      return / IN (.*)\. udp/.exec(textOf({ query, message: answerTo(query) }))![1];
    });
    const ddd = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, i) => `\\${String(from + i).padStart(3, '0')}`).join(
        '',
      );
    expect(texts.join('')).toBe(
      `${ddd(0, 32)}\\ !\\"#$%&\\'\\(\\)*+,-\\./0123456789:\\;<=>?\\@` +
        'abcdefghijklmnopqrstuvwxyz[\\\\]^_`abcdefghijklmnopqrstuvwxyz{|}~' +
        ddd(127, 256),
    );
  });
});

describe('a line of the query log as JSON', () => {
  it('has the fields of CoreDNS, then the source, the server and the Extended DNS Errors', () => {
    const query = withAdditional(QUERY, OPT);
    const message = answerTo(query, RCODE.SERVFAIL, extendedErrorOption(22, 'no server'));
    const fields = { query, message, source: SOURCE.UPSTREAM, server: SERVER, ms: 2.5 };
    expect(jsonText(fields)).toBe(
      '{"time":"2026-11-22T22:34:05.007Z","level":"INFO","plugin":"log","client_ip":"192.0.2.1",' +
        '"client_port":40000,"qname":"www.example.org.","qtype":"A","qclass":"IN","protocol":"udp",' +
        '"id":7,"opcode":0,"request_size":44,"dnssec_ok":true,"bufsize":4096,"rcode":"SERVFAIL",' +
        `"response_size":${message.length},"duration_seconds":0.0025,"source":"upstream",` +
        '"server":"192.0.2.53#53","ede":[22]}\n',
    );
  });

  it('has null where there was no answer', () => {
    const line = jsonOf({ query: QUERY, source: SOURCE.NONE });
    expect([line.rcode, line.response_size, line.source]).toEqual([null, 0, 'none']);
  });

  it('is one object in one line, whatever a client sends', () => {
    fc.assert(
      fc.property(anyName, fc.integer({ min: 0, max: 65_535 }), (name, type) => {
        const query = questionOf(name, type);
        const line = jsonText({ query, message: answerTo(query) });
        const text = textOf({ query, message: answerTo(query) });
        const { qname } = JSON.parse(line) as { qname: string };
        expect([line.indexOf('\n'), text.indexOf('\n')]).toEqual([
          line.length - 1,
          text.length - 1,
        ]);
        expect(/^[\x20-\x7e]*$/.test(line.slice(0, -1) + text.slice(0, -1))).toBe(true);
        // The same name, once its escapes are read.
        expect(decodeName(encodeName(qname))).toBe(decodeName(name).replace(/[A-Z]/g, lowerCase));
        expect(text).toContain(` IN ${qname} udp `);
      }),
    );
  });

  it('has room for the longest name, all of it escaped', () => {
    const labels = Array.from({ length: 4 }, (_, i) => Buffer.alloc(i < 3 ? 63 : 61, 0xff));
    const parts = labels.map((label) => Buffer.concat([Buffer.from([label.length]), label]));
    const query = questionOf(Buffer.concat([...parts, Buffer.alloc(1)]), 65_280);
    const server = { address: '2001:db8::1', port: 443, encryption: LONG_SERVER };
    const client = '2001:db8:1111:2222:3333:4444:5555:6666';
    const line = jsonText({ query, message: answerTo(query), server, client });
    expect(line.length).toBeLessThan(3_000);
    expect((JSON.parse(line) as { qname: string }).qname).toBe(
      labels.map((label) => `${'\\255'.repeat(label.length)}.`).join(''),
    );
  });
});

const LONG_SERVER = {
  protocol: 'https',
  name: 'dns.example',
  path: `/${'"'.repeat(2_000)}`,
} as const;

function lowerCase(text: string): string {
  return text.toLowerCase();
}

describe('LineWriter', () => {
  const written = (put: (line: LineWriter) => void): string => {
    const line = new LineWriter();
    const bytes = new Uint8Array(100);
    line.start(bytes, 0);
    put(line);
    return Buffer.from(bytes.subarray(0, line.at)).toString();
  };

  it.each([
    [0, '0'],
    [0.000001, '0.000000001'],
    [0.0163, '0.0000163'],
    [1, '0.001'],
    [1_000, '1'],
    [12_345.678901, '12.345678901'],
    [-3, '0'],
  ])('writes %d ms as %s seconds', (ms, text) => {
    expect(written((line) => line.putSeconds(ms))).toBe(text);
  });

  it('writes numbers', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 31 - 1 }), (value) => {
        expect(written((line) => line.putNumber(value))).toBe(String(value));
      }),
    );
  });

  it('writes addresses as others read them', () => {
    const group = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 0xffff }));
    const ipv6 = fc.array(group, { minLength: 8, maxLength: 8 }).map((groups) => {
      // Neither of the forms that end with an IPv4 address.
      const bytes = Buffer.from(Uint16Array.of(1, ...groups.slice(1)).buffer).swap16();
      return new Uint8Array(bytes);
    });
    const ipv4 = fc.uint8Array({ minLength: 4, maxLength: 4 });
    fc.assert(
      fc.property(fc.oneof(ipv4, ipv6), (address) => {
        const text = written((line) => line.putAddress(address, address.length));
        expect(text).toBe(addressText(address));
      }),
    );
  });
});
