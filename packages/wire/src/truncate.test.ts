import { describe, expect, it } from '@jest/globals';
import packet from 'dns-packet';
import type { Answer, DecodedPacket } from 'dns-packet';
import fc from 'fast-check';
import { addressRecords, opt, readQuery, responseBytes } from '../test/messages.js';
import { AnswerWriter } from './answer-writer.js';
import { encodeName } from './name.js';
import { TYPE } from './protocol.js';
import { RecordCursor, SECTION } from './record-cursor.js';
import { fitMessage } from './truncate.js';

const cursor = new RecordCursor();
const OPT_WITH_OPTIONS = withOption(10, 40);

interface Sections {
  readonly answers: number;
  readonly authorities: number;
  readonly additionals: number;
  readonly opt?: Answer;
}

function build(sections: Sections): Buffer {
  const records = addressRecords('web.default.x', 60);
  const additionals = records.slice(0, sections.additionals);
  return responseBytes('web.default.x', {
    answers: records.slice(0, sections.answers),
    authorities: records.slice(0, sections.authorities),
    additionals: sections.opt === undefined ? additionals : [...additionals, sections.opt],
  });
}

function fit(message: Buffer, maxBytes: number): Buffer {
  const bytes = Buffer.from(message);
  return bytes.subarray(0, fitMessage(bytes, bytes.length, maxBytes, cursor));
}

const names = (decoded: DecodedPacket) => ({
  answers: decoded.answers!,
  authorities: decoded.authorities!,
  additionals: decoded.additionals!.filter(({ type }) => type !== 'OPT'),
});

describe('fitMessage', () => {
  it('leaves a message alone that just fits', () => {
    const message = build({ answers: 5, authorities: 0, additionals: 0 });
    expect(fit(message, message.length)).toEqual(message);
  });

  it('drops the last record and sets TC for one byte too many', () => {
    const message = build({ answers: 5, authorities: 0, additionals: 0 });
    const decoded = packet.decode(fit(message, message.length - 1));
    expect(decoded.answers).toHaveLength(4);
    expect(decoded.flag_tc).toBe(true);
    expect(decoded.questions).toEqual(packet.decode(message).questions);
  });

  it('drops additional records without TC', () => {
    const message = build({ answers: 5, authorities: 1, additionals: 5 });
    const decoded = packet.decode(fit(message, message.length - 60));
    expect(decoded).toMatchObject({ flag_tc: false });
    expect(decoded.answers).toHaveLength(5);
    expect(decoded.authorities).toHaveLength(1);
    expect(decoded.additionals).toHaveLength(2);
  });

  it('sets TC when an authority record has to go', () => {
    const message = build({ answers: 1, authorities: 5, additionals: 5 });
    const decoded = packet.decode(fit(message, 150));
    expect(decoded.flag_tc).toBe(true);
    expect(decoded.authorities).toHaveLength(3);
    expect(decoded.additionals).toEqual([]);
  });

  it('keeps OPT with its options', () => {
    const message = build({ answers: 30, authorities: 0, additionals: 3, opt: OPT_WITH_OPTIONS });
    const decoded = packet.decode(fit(message, 512));
    expect(decoded.additionals).toMatchObject([{ type: 'OPT', options: [{ code: 10 }] }]);
  });

  it('keeps the question and a bare OPT when the options do not fit', () => {
    const padding = withOption(12, 600);
    const message = build({ answers: 5, authorities: 0, additionals: 0, opt: padding });
    const decoded = packet.decode(fit(message, 512));
    expect(decoded.questions).toHaveLength(1);
    expect(decoded.answers).toHaveLength(5);
    expect(decoded.additionals).toMatchObject([{ type: 'OPT', options: [] }]);
    expect(decoded.flag_tc).toBe(false);
  });

  it('drops bytes behind the last record', () => {
    const message = build({ answers: 2, authorities: 0, additionals: 0 });
    const cut = fit(Buffer.concat([message, Buffer.alloc(500)]), 512);
    expect(cut).toEqual(message);
  });

  it('keeps compressed names whole', () => {
    const query = readQuery('_p._tcp.web.x', { additionals: [opt()] });
    const out = new Uint8Array(65_535);
    const writer = new AnswerWriter();
    writer.begin(query, out);
    const targets = Array.from({ length: 20 }, (_, i) => encodeName(`pod-${i}.web.x`));
    for (const target of targets.slice(0, 8)) {
      const rdata = Uint8Array.from([0, 10, 0, 1, 0, 80, ...target]);
      writer.add(SECTION.ANSWER, undefined, TYPE.SRV, 30, rdata);
    }
    for (const target of targets) {
      writer.add(SECTION.ADDITIONAL, target, TYPE.A, 30, Uint8Array.of(10, 0, 0, 1));
    }
    const decoded = packet.decode(fit(Buffer.from(out.subarray(0, writer.finish())), 512));
    expect(decoded.answers).toHaveLength(8);
    const left = decoded.additionals!.filter(({ type }) => type === 'A');
    expect(left.length).toBeGreaterThan(8);
    expect(left.length).toBeLessThan(20);
    expect(left.map(({ name }) => name)).toEqual(left.map((_, i) => `pod-${i}.web.x`));
  });

  it('keeps a prefix of the records, and OPT, whatever the size', () => {
    const sections = fc.record({
      answers: fc.nat(30),
      authorities: fc.nat(5),
      additionals: fc.nat(10),
      opt: fc.constantFrom(opt(), OPT_WITH_OPTIONS),
    });
    fc.assert(
      fc.property(
        sections,
        fc.integer({ min: 45, max: 1300 }),
        fc.boolean(),
        (counts, max, hasOpt) => {
          const message = build(hasOpt ? counts : { ...counts, opt: undefined as never });
          const cut = fit(message, max);
          expect(cut.length).toBeLessThanOrEqual(max);
          const [before, after] = [packet.decode(message), packet.decode(cut)];
          const [had, has] = [names(before), names(after)];
          const all = [...had.answers, ...had.authorities, ...had.additionals];
          const kept = [...has.answers, ...has.authorities, ...has.additionals];
          expect(kept).toEqual(all.slice(0, kept.length));
          expect(after.additionals!.some(({ type }) => type === 'OPT')).toBe(hasOpt);
          const isCut =
            has.answers.length < had.answers.length ||
            has.authorities.length < had.authorities.length;
          expect(after.flag_tc).toBe(isCut);
          if (kept.length === all.length) expect(max + 40).toBeGreaterThanOrEqual(message.length);
        },
      ),
    );
  });

  it('cuts to the header where not even the question fits', () => {
    const message = build({ answers: 5, authorities: 0, additionals: 0 });
    const decoded = packet.decode(fit(message, 25));
    expect(decoded).toMatchObject({ id: 0x1234, flag_tc: true, questions: [], answers: [] });
  });

  it('keeps what can be read of a message that breaks off', () => {
    const message = build({ answers: 40, authorities: 0, additionals: 0 });
    message.writeUInt16BE(41, 6);
    const decoded = packet.decode(fit(message, message.length - 1));
    expect(decoded).toMatchObject({ flag_tc: true });
    expect(decoded.answers).toHaveLength(39);
  });

  it('cuts any bytes to a message within the size', () => {
    const bytes = fc.uint8Array({ minLength: 12, maxLength: 400 });
    fc.assert(
      fc.property(bytes, fc.integer({ min: 12, max: 399 }), (message, max) => {
        const copy = Buffer.from(message);
        const length = fitMessage(copy, copy.length, max, cursor);
        expect(length).toBeLessThanOrEqual(max);
        expect(length).toBeGreaterThanOrEqual(Math.min(12, message.length));
        if (length < message.length)
          expect(copy.readUInt16BE(0)).toBe(Buffer.from(message).readUInt16BE(0));
      }),
    );
  });
});

/** OPT with one option of so many bytes. */
function withOption(code: 10 | 12, bytes: number): Answer {
  return { ...opt(), type: 'OPT', options: [{ code, data: Buffer.alloc(bytes, 7) }] } as Answer;
}
