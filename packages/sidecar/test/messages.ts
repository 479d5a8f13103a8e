import { decodeMessage, encodeQuery, type DecodedMessage } from '@kube-dns/wire';

import { renderReply, type RecordBytes } from './responder.js';

/** A reply with these answer records, as the sidecar decodes it. */
export function replyWith(...records: RecordBytes[]): DecodedMessage {
  const query = encodeQuery({ id: 1, name: 'x.', type: 'TXT' });
  return decodeMessage(renderReply(query, records));
}
