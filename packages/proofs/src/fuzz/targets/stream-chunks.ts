/** A text in pieces of a few sizes, which its length decides: as a connection may bring it. */
export function chunksOf(text: string): Buffer[] {
  const bytes = Buffer.from(text);
  const size = [bytes.length, 1_000, 100, 17][bytes.length % 4]! || 1;
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
  return chunks;
}

export const JSON_TOKENS = [
  ...[
    '"',
    '[',
    ']',
    '{',
    '}',
    ':',
    ',',
    '\n',
    'null',
    '[]',
    '{}',
    '"items":[',
    '"metadata":{',
    '"a":',
  ],
  ...[
    '"name":',
    '"namespace":',
    '"spec":',
    '"ports":',
    '"clusterIP":"None"',
    '"clusterIPs":[null]',
  ],
  ...['"type":"ExternalName"', '"externalName":"a.b"', '"endpoints":[', '"addresses":["10.0.0.1"]'],
  ...[
    '"type":"ADDED"',
    '"type":"DELETED"',
    '"type":"ERROR"',
    '"object":',
    '"labels":{',
    '"subsets":[',
  ],
  ...[
    '"kubernetes.io/service-name":"db"',
    '"resourceVersion":"1"',
    '\\u0000',
    '\\ud800',
    '\\"',
    '1e999',
  ],
];
