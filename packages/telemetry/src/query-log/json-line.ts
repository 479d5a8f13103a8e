import { OPCODE_MASK } from '@kube-dns/wire';
import type { ObservedAnswer } from '../observed-answer.js';
import { advertisedSize } from './advertised-size.js';
import type { AnswerFacts } from './answer-facts.js';
import { putClass, putRcode, putServer, putType, SOURCES } from './line-words.js';
import { ascii, type LineWriter } from './line-writer.js';

const MS_PER_SECOND = 1_000;
const OPCODE_SHIFT = 11;
const COMMA = 0x2c;
const DIGITS = 0x30;
const QUOTE = 0x22;
const TIME = ascii('{"time":"');
const CLIENT = ascii('Z","level":"INFO","plugin":"log","client_ip":"');
const PORT = ascii('","client_port":');
const NAME = ascii(',"qname":"');
const TYPE = ascii('","qtype":"');
const CLASS = ascii('","qclass":"');
const UDP = ascii('","protocol":"udp","id":');
const TCP = ascii('","protocol":"tcp","id":');
const OPCODE = ascii(',"opcode":');
const REQUEST_SIZE = ascii(',"request_size":');
const WITH_DNSSEC = ascii(',"dnssec_ok":true,"bufsize":');
const WITHOUT_DNSSEC = ascii(',"dnssec_ok":false,"bufsize":');
const RCODE = ascii(',"rcode":"');
const NO_RCODE = ascii(',"rcode":null,"response_size":');
const RESPONSE_SIZE = ascii(',"response_size":');
const DURATION = ascii(',"duration_seconds":');
const SOURCE = ascii(',"source":"');
const SERVER = ascii(',"server":');
const ERRORS = ascii(',"ede":[');
const END = ascii(']}\n');
/** `2026-11-22T22:50:29.` */
const SECOND_CHARACTERS = 20;

/**
 * Writes an object per line, with the names of CoreDNS's `-log-format=json` for a query (plugin/log, logJSON), then
 * `source`, `server` where one replied, and `ede`, the codes of Extended DNS Errors.
 */
export class JsonLines {
  #second = -1;
  #secondText = ascii('');

  put(line: LineWriter, answer: ObservedAnswer, facts: AnswerFacts, epochMs: number): void {
    const { query, server, length } = answer;
    line.put(TIME);
    this.#putTime(line, epochMs);
    line.put(CLIENT);
    line.putAddress(answer.address, answer.addressBytes);
    line.put(PORT);
    line.putNumber(answer.port);
    line.put(NAME);
    line.putName(query.name, query.nameLength, true);
    line.put(TYPE);
    putType(line, query.type);
    line.put(CLASS);
    putClass(line, query.class);
    line.put(query.isOverTcp ? TCP : UDP);
    line.putNumber(query.id);
    line.put(OPCODE);
    line.putNumber((query.flags & OPCODE_MASK) >>> OPCODE_SHIFT);
    line.put(REQUEST_SIZE);
    line.putNumber(query.length);
    line.put(query.isDnssecOk ? WITH_DNSSEC : WITHOUT_DNSSEC);
    line.putNumber(advertisedSize(query));
    if (length === 0) line.put(NO_RCODE);
    else {
      line.put(RCODE);
      putRcode(line, facts.rcode);
      line.putByte(QUOTE);
      line.put(RESPONSE_SIZE);
    }
    line.putNumber(length);
    line.put(DURATION);
    line.putSeconds(answer.endedMs - answer.startedMs);
    line.put(SOURCE);
    line.put(SOURCES[answer.source]!);
    line.putByte(QUOTE);
    if (server !== undefined) {
      line.put(SERVER);
      putServer(line, server);
    }
    line.put(ERRORS);
    for (let i = 0; i < facts.errorCount; i++) {
      if (i > 0) line.putByte(COMMA);
      line.putNumber(facts.errors[i]!);
    }
    line.put(END);
  }

  /** UTC in milliseconds (RFC 3339), without the Z. */
  #putTime(line: LineWriter, epochMs: number): void {
    const second = Math.floor(epochMs / MS_PER_SECOND);
    if (second !== this.#second) {
      this.#second = second;
      const text = new Date(second * MS_PER_SECOND).toISOString();
      this.#secondText = ascii(text.slice(0, SECOND_CHARACTERS));
    }
    const ms = epochMs - second * MS_PER_SECOND;
    line.put(this.#secondText);
    line.putByte(DIGITS + Math.floor(ms / 100));
    line.putByte(DIGITS + (Math.floor(ms / 10) % 10));
    line.putByte(DIGITS + (ms % 10));
  }
}
