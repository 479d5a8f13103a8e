import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { findDuplicateKeys, parseProtobuf } from './body.js';

describe('findDuplicateKeys', () => {
  it.each<[string, string[]]>([
    ['{"a":1,"a":2}', ['a']],
    ['{"a":{"b":1,"b":2,"b":3},"c":{"b":1}}', ['a.b']],
    ['{"a":[{"b":1},{"b":1,"c":"}","b":2}],"a":[]}', ['a[1].b', 'a']],
    ['[{"x":1,"x":2},[{"y":1,"y":2}]]', ['[0].x', '[1][0].y']],
    ['{"a\\"":1,"a\\u0022":2,"b":"a\\":1,"}', ['a"']],
    [' { "a" : [ 1 , true , "a" ] , "b" : null } ', []],
    ['"a"', []],
  ])('finds them in %s', (text, paths) => {
    expect(findDuplicateKeys(text)).toEqual(paths);
  });

  it('finds none in any text that JSON.stringify made', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(findDuplicateKeys(JSON.stringify(value, null, 1))).toEqual([]);
      }),
    );
  });
});

/** A field that holds bytes: a text, or another message. */
function bytes(number: number, ...parts: (string | Buffer)[]): Buffer {
  const content = Buffer.concat(parts.map((part) => Buffer.from(part)));
  return Buffer.concat([varint((number << 3) | 2), varint(content.length), content]);
}

function varint(value: number): Buffer {
  const out: number[] = [];
  for (; value > 0x7f; value = Math.floor(value / 128)) out.push((value % 128) | 0x80);
  return Buffer.from([...out, value]);
}

function number(field: number, value: number): Buffer {
  return Buffer.concat([varint(field << 3), varint(value)]);
}

function body(apiVersion: string, kind: string, ...fields: Buffer[]): Buffer {
  const type = bytes(1, bytes(1, apiVersion), bytes(2, kind));
  return Buffer.concat([Buffer.from('k8s\0'), type, bytes(2, ...fields)]);
}

describe('parseProtobuf', () => {
  it('reads a slice with its false values and without its empty ones', () => {
    const endpoint = bytes(2, bytes(1, '10.0.0.1'), bytes(2, number(1, 0)), bytes(3, ''));
    const port = bytes(3, bytes(1, 'http'), bytes(2, 'TCP'), number(3, 8080));
    const metadata = bytes(1, bytes(1, 'web-1'), bytes(11, bytes(1, 'app'), bytes(2, '')));
    const message = body(
      'discovery.k8s.io/v1',
      'EndpointSlice',
      metadata,
      endpoint,
      port,
      bytes(4, 'IPv4'),
    );
    expect(parseProtobuf(message)).toEqual({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'web-1', labels: { app: '' } },
      endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: false } }],
      ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
      addressType: 'IPv4',
    });
  });

  it('reads both kinds of target port', () => {
    const named = bytes(1, number(3, 80), bytes(4, number(1, 1), bytes(3, 'http')));
    const numbered = bytes(1, number(3, 81), bytes(4, number(1, 0), number(2, 8081)));
    expect(parseProtobuf(body('v1', 'Service', bytes(2, named, numbered)))).toMatchObject({
      spec: {
        ports: [
          { port: 80, targetPort: 'http' },
          { port: 81, targetPort: 8081 },
        ],
      },
    });
  });

  it('reads the preconditions of a delete', () => {
    const message = body('v1', 'DeleteOptions', bytes(2, bytes(1, 'some-uid')), bytes(5, 'All'));
    expect(parseProtobuf(message)).toMatchObject({
      preconditions: { uid: 'some-uid' },
      dryRun: ['All'],
    });
  });

  it('refuses kinds that the schema does not have', () => {
    expect(() => parseProtobuf(body('v1', 'Pod'))).toThrow(/^Pod is not accepted as/);
  });

  it.each([
    ['no magic', Buffer.from('abc')],
    ['a field that is cut off', body('v1', 'Service', Buffer.from([0x0a, 0x7f]))],
    ['a number that is cut off', body('v1', 'Service', Buffer.from([0x0a, 0xff]))],
    ['a number that does not end', body('v1', 'Service', Buffer.alloc(12, 0xff))],
    ['an unknown wire type', body('v1', 'Service', Buffer.from([0x0b]))],
    ['a number for a message', body('v1', 'Service', number(1, 7))],
  ])('refuses %s', (_title, message) => {
    expect(() => parseProtobuf(message)).toThrow(/^error decoding the request body/);
  });

  it('reads or refuses any bytes, and throws no other error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (content) => {
        try {
          parseProtobuf(body('v1', 'Service', Buffer.from(content)));
        } catch (error) {
          expect(error).toMatchObject({ reason: 'BadRequest' });
        }
      }),
    );
  });
});
