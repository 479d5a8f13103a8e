import { addressRecords, encodeReply, type ReplyRecord } from '@kube-dns/testkit';
import { decodeMessage, encodeQuery, type DecodedMessage } from '@kube-dns/wire';

export const addressRecord = addressRecords(0, '10.0.0.1')[0]!;

/** A CHAOS TXT record of these strings, as dnsmasq answers with its statistics. */
export function txtRecord(...strings: string[]): ReplyRecord {
  return { type: 'TXT', class: 'CH', ttl: 0, data: strings };
}

/** A reply with these answer records, as the sidecar decodes it. */
export function replyWith(...answers: ReplyRecord[]): DecodedMessage {
  const query = encodeQuery({ id: 1, name: 'x.', type: 'TXT' });
  return decodeMessage(encodeReply(query, { answers }));
}
