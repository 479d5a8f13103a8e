import { readUint16 } from '@kube-dns/wire';
import type { ObservedAnswer } from '../observed-answer.js';
import { advertisedSize } from './advertised-size.js';
import type { AnswerFacts } from './answer-facts.js';
import { putClass, putFlags, putRcode, putType } from './line-words.js';
import { ascii, type LineWriter } from './line-writer.js';

const COLON = 0x3a;
const SPACE = 0x20;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const IPV4_BYTES = 4;
const BEFORE_ID = ascii(' - ');
const BEFORE_TYPE = ascii(' "');
const AFTER_BUFFER_SIZE = ascii('" ');
const UDP = ascii(' udp ');
const TCP = ascii(' tcp ');
const WITH_DNSSEC = ascii(' true ');
const WITHOUT_DNSSEC = ascii(' false ');
const NO_ANSWER = ascii('- - 0 ');
const END = ascii('s\n');

/**
 * A line in CoreDNS's common format (plugin/log, CommonLogFormat), without the `[INFO] ` before it:
 * `192.0.2.1:40000 - 7 "A IN a.test. udp 24 false 512" NOERROR qr,rd,ra 40 0.000163s`.
 */
export function putTextLine(line: LineWriter, answer: ObservedAnswer, facts: AnswerFacts): void {
  const { query, message, length, addressBytes } = answer;
  if (addressBytes > IPV4_BYTES) line.putByte(OPEN_BRACKET);
  line.putAddress(answer.address, addressBytes);
  if (addressBytes > IPV4_BYTES) line.putByte(CLOSE_BRACKET);
  line.putByte(COLON);
  line.putNumber(answer.port);
  line.put(BEFORE_ID);
  line.putNumber(query.id);
  line.put(BEFORE_TYPE);
  putType(line, query.type);
  line.putByte(SPACE);
  putClass(line, query.class);
  line.putByte(SPACE);
  line.putName(query.name, query.nameLength, false);
  line.put(query.isOverTcp ? TCP : UDP);
  line.putNumber(query.length);
  line.put(query.isDnssecOk ? WITH_DNSSEC : WITHOUT_DNSSEC);
  line.putNumber(advertisedSize(query));
  line.put(AFTER_BUFFER_SIZE);
  if (length === 0) line.put(NO_ANSWER);
  else {
    putRcode(line, facts.rcode);
    line.putByte(SPACE);
    putFlags(line, readUint16(message, 2));
    line.putByte(SPACE);
    line.putNumber(length);
    line.putByte(SPACE);
  }
  line.putSeconds(answer.endedMs - answer.startedMs);
  line.put(END);
}
