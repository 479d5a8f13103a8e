import { readUint16, RecordCursor, TYPE, writeUint16 } from '@kube-dns/wire';
import { queryMessage, type Question, type Response, responseTo } from '@kube-dns/resolver/testing';
import type { Query } from '@kube-dns/wire';

/** An option as `CODE HEX`. */
export type OptionText = string;

const OPT_BYTES = 11;

/** A query with an OPT record that has these options; behind it, records as they are, if any. */
export function queryWithOptions(question: Question, ...options: OptionText[]): Buffer {
  const message = queryMessage({ ednsBytes: 1232, ...question });
  return withOptions(message, Buffer.concat(options.map(optionBytes)));
}

function optionBytes(text: OptionText): Buffer {
  const [code = '', hex = ''] = text.split(' ');
  const data = Buffer.from(hex, 'hex');
  const head = Buffer.alloc(4);
  writeUint16(head, 0, Number(code));
  writeUint16(head, 2, data.length);
  return Buffer.concat([head, data]);
}

/** The message, which ends in an OPT record without options, with these. */
function withOptions(message: Buffer, options: Uint8Array): Buffer {
  const changed = Buffer.concat([message, options]);
  writeUint16(changed, message.length - 2, options.length);
  return changed;
}

/** The response to a query, with the options that the query has. */
export function echoingResponse(query: Query, response: Response): Buffer {
  const message = responseTo(query, response);
  if (!query.hasEdns) return message;
  const { start, rdata } = findOpt(query.bytes.subarray(0, query.length));
  if (start < 0 || readUint16(message, message.length - OPT_BYTES + 1) !== TYPE.OPT) return message;
  return withOptions(message, rdata);
}

/** The response to a query with EDNS, with these options. */
export function responseWithOptions(
  query: Query,
  response: Response,
  ...options: OptionText[]
): Buffer {
  return withOptions(responseTo(query, response), Buffer.concat(options.map(optionBytes)));
}

function findOpt(message: Uint8Array): { start: number; size: number; rdata: Uint8Array } {
  const cursor = new RecordCursor().reset(message, message.length);
  while (cursor.next()) {
    if (cursor.type !== TYPE.OPT) continue;
    const rdata = message.subarray(cursor.rdataStart, cursor.end);
    return { start: cursor.start, size: cursor.class, rdata };
  }
  return { start: -1, size: -1, rdata: new Uint8Array() };
}

/** The size and the options of a message's OPT record, as `SIZE CODE HEX …`; `none` without one. */
export function optText(message: Uint8Array): string {
  const { start, size, rdata } = findOpt(message);
  if (start < 0) return 'none';
  const options = optionsText(rdata);
  return options === '' ? String(size) : `${size} | ${options}`;
}

/** The options in the data of an OPT record, as `CODE HEX | …`. */
export function optionsText(rdata: Uint8Array): string {
  const texts: string[] = [];
  for (let at = 0; at + 4 <= rdata.length;) {
    const end = at + 4 + readUint16(rdata, at + 2);
    texts.push(
      `${readUint16(rdata, at)} ${Buffer.from(rdata.subarray(at + 4, end)).toString('hex')}`,
    );
    at = end;
  }
  return texts.join(' | ');
}
