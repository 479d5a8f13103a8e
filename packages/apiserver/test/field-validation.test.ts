import { describe, expect, it } from '@jest/globals';
import { CONFIG_MAPS, configMap, send, server, startServerForEach } from './harness.js';

const JSON_TEXT =
  '{"kind":"ConfigMap","metadata":{"name":"x","name":"a","foo":1},"data":{"k":"1","k":"2"},"bar":1}';
const YAML_TEXT =
  'kind: ConfigMap\nmetadata:\n  name: x\n  name: a\n  foo: 1\ndata:\n  k: "1"\n  "k": "2"\ndata:\n  k: "2"\n';
const YAML = { 'content-type': 'application/yaml' };
const MERGE = { 'content-type': 'application/merge-patch+json' };
const STRATEGIC = { 'content-type': 'application/strategic-merge-patch+json' };
const JSON_PATCH = { 'content-type': 'application/json-patch+json' };

startServerForEach();

function warnings(...texts: string[]): string {
  return texts.map((text) => `299 - ${JSON.stringify(text)}`).join(', ');
}

describe('a field that is written twice', () => {
  it.each<[string, string, Record<string, string>, string[]]>([
    [
      'JSON',
      JSON_TEXT,
      {},
      [
        'duplicate field "metadata.name"',
        'duplicate field "data.k"',
        'unknown field "metadata.foo"',
        'unknown field "bar"',
      ],
    ],
    [
      'YAML',
      YAML_TEXT,
      YAML,
      [
        'line 4: key "name" already set in map',
        'line 8: key "k" already set in map',
        'line 10: key "data" already set in map',
        'unknown field "metadata.foo"',
      ],
    ],
  ])('of %s has its last value, and a warning', async (_name, text, headers, expected) => {
    const answer = await send(server, 'POST', CONFIG_MAPS, text, headers);
    expect(answer.status).toBe(201);
    expect(answer.headers.get('warning')).toBe(warnings(...expected));
    expect(server.get('ConfigMap', 'default', 'a')?.data).toEqual({ k: '2' });
  });

  it('is refused with fieldValidation=Strict', async () => {
    const path = `${CONFIG_MAPS}?fieldValidation=Strict`;
    const json = await send(server, 'POST', path, JSON_TEXT);
    expect([json.status, json.body.message]).toEqual([
      400,
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: duplicate field "metadata.name", duplicate field "data.k", unknown field "metadata.foo", unknown field "bar"',
    ]);
    const yaml = await send(server, 'POST', path, YAML_TEXT, YAML);
    expect([yaml.status, yaml.body.message]).toEqual([
      400,
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: yaml: unmarshal errors:\n  line 4: key "name" already set in map\n  line 8: key "k" already set in map\n  line 10: key "data" already set in map, unknown field "metadata.foo"',
    ]);
    expect(server.list('ConfigMap')).toEqual([]);
  });

  it('is no reason for a warning with fieldValidation=Ignore', async () => {
    const path = `${CONFIG_MAPS}?fieldValidation=Ignore`;
    const { status, headers } = await send(server, 'POST', path, JSON_TEXT);
    expect([status, headers.get('warning')]).toEqual([201, null]);
  });

  it('of a patch has a warning, and is a 422 with fieldValidation=Strict', async () => {
    await server.apply(configMap('a', { k: '0' }));
    const patches: [string, Record<string, string>, string][] = [
      ['{"data":{"k":"1","k":"2"}}', MERGE, 'duplicate field "data.k"'],
      ['{"data":{"k":"3","k":"4"}}', STRATEGIC, 'duplicate field "data.k"'],
      [
        '[{"op":"add","path":"/data/k","value":"5","value":"6"}]',
        JSON_PATCH,
        'json patch duplicate field "[0].value"',
      ],
    ];
    for (const [text, type, warning] of patches) {
      const path = `${CONFIG_MAPS}/a`;
      const strict = await send(server, 'PATCH', `${path}?fieldValidation=Strict`, text, type);
      expect([strict.status, strict.body.reason]).toEqual([422, 'Invalid']);
      expect(strict.body.message).toContain(`strict decoding error: ${warning}`);
      const { status, headers } = await send(server, 'PATCH', path, text, type);
      expect([status, headers.get('warning')]).toEqual([200, warnings(warning)]);
    }
    expect(server.get('ConfigMap', 'default', 'a')?.data).toEqual({ k: '6' });
  });
});

describe('fieldValidation', () => {
  it.each([
    ['POST', CONFIG_MAPS, 'CreateOptions'],
    ['PUT', `${CONFIG_MAPS}/a`, 'UpdateOptions'],
    ['PATCH', `${CONFIG_MAPS}/a`, 'PatchOptions'],
  ])('of another value is a 422 for %s', async (method, path, kind) => {
    const headers = method === 'PATCH' ? MERGE : {};
    const url = `${path}?fieldValidation=Foo`;
    const { status, body } = await send(server, method, url, configMap('a'), headers);
    expect([status, body.message]).toEqual([
      422,
      `${kind}.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Foo": supported values: "", "Ignore", "Strict", "Warn"`,
    ]);
  });
});
