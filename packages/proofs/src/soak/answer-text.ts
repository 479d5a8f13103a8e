import { decodeMessage, type DecodedMessage, type DecodedRecord } from '@kube-dns/wire';

/** One line per record of an answer, without TTLs and in an order that does not depend on the message. */
export function answerText(rcode: string, records: readonly string[]): string {
  return [rcode, ...[...records].sort()].join(' | ');
}

/** A record as `answerText` takes it. */
export function recordText(owner: string, type: string, data: string): string {
  return `${owner} ${type} ${data}`.toLowerCase();
}

function dataText(record: DecodedRecord): string {
  switch (record.type) {
    case 'A':
    case 'AAAA':
    case 'CNAME':
    case 'PTR':
      return record.data;
    case 'SRV':
      return `${record.data.port} ${record.data.target}`;
    default:
      return '?';
  }
}

/** The same of an answer that came. */
export function textOf({ rcode, isTruncated, answers }: DecodedMessage): string {
  const records = answers.map((record) => recordText(record.name, record.type, dataText(record)));
  return answerText(isTruncated ? `${rcode}, cut` : rcode, records);
}

/** The text of an answer, or why it is none. */
export function readAnswer(message: Buffer): string {
  try {
    return textOf(decodeMessage(message));
  } catch (error) {
    return `no message: ${String(error)}`;
  }
}
