import { connect } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import {
  CONFIG_MAPS,
  configMap,
  get,
  onClose,
  send,
  service,
  SERVICES,
  startServer,
  server,
  startServerForEach,
} from './harness.js';

const YAML = { 'content-type': 'application/yaml' };

startServerForEach();

describe('a Status', () => {
  it('has the reason when an object does not exist', async () => {
    const { status, body } = await get(server, `${SERVICES}/web`);
    expect(status).toBe(404);
    expect(body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'services "web" not found',
      reason: 'NotFound',
      details: { name: 'web', kind: 'services' },
      code: 404,
    });
  });

  it('has the reason when an object exists already', async () => {
    await server.apply(service('web'));
    const { status, body } = await send(server, 'POST', SERVICES, service('web'));
    expect([status, body.reason]).toEqual([409, 'AlreadyExists']);
  });

  it('has the reason when a write is based on an older version', async () => {
    await server.apply(configMap('a'));
    const old = server.get('ConfigMap', 'default', 'a')!;
    await server.apply(configMap('a', { x: '1' }));
    const { status, body } = await send(server, 'PUT', `${CONFIG_MAPS}/a`, old);
    expect([status, body.reason]).toEqual([409, 'Conflict']);
  });

  it('lists every cause of an invalid object', async () => {
    const wrong = service('web', { ports: [{ port: 0 }], type: 'x' });
    const { status, body } = await send(server, 'POST', SERVICES, wrong);
    expect([status, body.reason]).toEqual([422, 'Invalid']);
    expect(body.details).toMatchObject({
      kind: 'Service',
      name: 'web',
      causes: [
        { reason: 'FieldValueNotSupported', field: 'spec.type' },
        { reason: 'FieldValueInvalid', field: 'spec.ports[0].port' },
        { reason: 'FieldValueInvalid', field: 'spec.ports[0].targetPort' },
      ],
    });
  });

  it('has the reason when a precondition of a delete is not met', async () => {
    await server.apply(configMap('a'));
    const preconditions = { uid: 'other' };
    expect((await send(server, 'DELETE', `${CONFIG_MAPS}/a`, { preconditions })).status).toBe(409);
    expect(server.get('ConfigMap', 'default', 'a')).toBeDefined();
  });

  it('has the reason when a namespace may not be deleted', async () => {
    const { status, body } = await send(server, 'DELETE', '/api/v1/namespaces/kube-system');
    expect([status, body.reason]).toEqual([403, 'Forbidden']);
  });
});

describe('a request', () => {
  const bad = (body: unknown, headers = {}) => send(server, 'POST', SERVICES, body, headers);
  const deep = '['.repeat(200_000) + ']'.repeat(200_000);

  it.each<[string, unknown]>([
    ['is no JSON', '{"a":'],
    ['is no object', '[]'],
    ['is empty', undefined],
    ['is of another kind', configMap('a')],
    ['is of another version', { ...service('a'), apiVersion: 'v2' }],
    ['names another namespace', service('a', {}, { namespace: 'kube-system' })],
    ['has a version already', service('a', {}, { resourceVersion: '1' })],
    ['has a field of the wrong type', service('a', { ports: [{ port: '80' }] })],
    ['is nested too deep', `{"metadata":{"annotations":${deep}}}`],
  ])('is answered with 400 when its body %s', async (_title, body) => {
    const answer = await bad(body);
    expect([answer.status, answer.body.reason]).toEqual([400, 'BadRequest']);
  });

  it('is answered with 400 when a PUT names another object', async () => {
    const { status } = await send(server, 'PUT', `${SERVICES}/b`, service('a'));
    expect(status).toBe(400);
  });

  it('is answered with 422 when its dryRun is empty', async () => {
    const { status, body } = await send(server, 'POST', `${SERVICES}?dryRun=`, service('a'));
    expect([status, body.reason]).toEqual([422, 'Invalid']);
    expect(server.get('Service', 'default', 'a')).toBeUndefined();
  });

  it.each(['json-patch', 'merge-patch', 'strategic-merge-patch'])(
    'is answered with 400 when its %s is nested too deep',
    async (type) => {
      await server.apply(configMap('a'));
      const nested = '{"a":'.repeat(9000) + '1' + '}'.repeat(9000);
      const isJsonPatch = type === 'json-patch';
      const text = isJsonPatch ? `[{"op":"add","path":"/data","value":${nested}}]` : nested;
      const { status, body } = await send(server, 'PATCH', `${CONFIG_MAPS}/a`, text, {
        'content-type': `application/${type}+json`,
      });
      expect([status, body.reason]).toEqual([400, 'BadRequest']);
      expect(body.message).toMatch(/nested deeper than 200/);
    },
  );

  it('is answered with 404 when the namespace does not exist', async () => {
    const path = '/api/v1/namespaces/shop/services';
    const { status, body } = await send(server, 'POST', path, service('a'));
    expect([status, body.message]).toEqual([404, 'namespaces "shop" not found']);
  });

  it.each([
    '/api/v1/secrets',
    '/api/v2/services',
    '/api/v1/endpointslices',
    '/api/v1/services/web',
    '/api/v1/namespaces/default/nodes',
    `${SERVICES}/web/status`,
    `${SERVICES}/web/scale`,
    '/apis/apps/v2/deployments',
    '/api/v1/namespaces/%zz/services',
  ])('is answered with a 404 that is a Status at %s', async (path) => {
    const { status, body } = await get(server, path);
    expect([status, body.reason]).toEqual([404, 'NotFound']);
  });

  it.each([
    ['GET', '/nowhere'],
    ['POST', '/nowhere'],
    ['OPTIONS', '/apis/batch'],
    ['GET', '/apis/batch/v1/jobs'],
    ['GET', '/readyz/x'],
  ])('is answered with a 404 in plain text for %s %s', async (method, path) => {
    const { status, headers, body } = await send(server, method, path);
    expect([status, body]).toEqual([404, '404 page not found\n']);
    expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
  });

  it.each([
    ['HEAD', SERVICES],
    ['OPTIONS', `${SERVICES}/web`],
    ['POST', '/version'],
    ['HEAD', '/api/v1'],
    ['POST', '/api/v1/services'],
    ['DELETE', '/api/v1/services'],
    ['PUT', SERVICES],
    ['POST', `${SERVICES}/web`],
  ])('is answered with 405 for %s %s', async (method, path) => {
    const hasBody = !['HEAD', 'OPTIONS'].includes(method);
    const { status, body } = await send(server, method, path, hasBody ? service('web') : undefined);
    expect(status).toBe(405);
    if (method !== 'HEAD') expect(body.reason).toBe('MethodNotAllowed');
  });

  it('for health is answered whatever its method', async () => {
    expect((await send(server, 'POST', '/healthz')).body).toBe('ok');
  });

  it('may have a slash at the end of its path', async () => {
    expect((await get(server, '/api/v1/services/')).body.kind).toBe('ServiceList');
  });

  it('is answered with 406 when the client accepts no available type', async () => {
    const { status } = await get(server, SERVICES, 'application/vnd.kubernetes.protobuf');
    expect(status).toBe(406);
    const either = 'application/vnd.kubernetes.protobuf, application/json';
    expect((await get(server, SERVICES, either)).status).toBe(200);
  });

  it('is answered with 413 when its body is over 3 MiB', async () => {
    const { status, body } = await bad(configMap('a', { x: 'x'.repeat(3 * 1024 * 1024) }));
    expect([status, body.reason]).toEqual([413, 'RequestEntityTooLarge']);
  });

  it('is answered with 413 and what to send when its YAML is over 64 KiB', async () => {
    const text = JSON.stringify(configMap('a', { x: 'x'.repeat(64 * 1024) }));
    const { status, body } = await bad(text, YAML);
    expect([status, body.reason]).toEqual([413, 'RequestEntityTooLarge']);
    expect(body.message).toMatch(/at most 65536 bytes: send JSON/);
  });

  it.each([
    ['nested too deep', '['.repeat(10_000), /nested deeper than 200/],
    ['nested too deep in keys', `${'? '.repeat(10_000)}a`, /nested deeper than 200/],
    ['no YAML', 'a: 1\nb: [', /line 2: Flow sequence/],
    ['two documents', 'a: 1\n---\na: 2', /more than one document/],
  ])('is answered with 400 when its YAML is %s', async (_title, text, message) => {
    const { status, body } = await bad(text, YAML);
    expect([status, body.reason]).toEqual([400, 'BadRequest']);
    expect(body.message).toMatch(message);
  });

  it('is answered with 415 when its body is of an unknown type', async () => {
    const { status } = await bad('x', { 'content-type': 'application/cbor' });
    expect(status).toBe(415);
  });

  it.each(['limit=x', 'resourceVersion=x', 'labelSelector=%3D', 'fieldSelector=spec.x%3D1'])(
    'is refused with %s',
    async (query) => {
      const { status } = await get(server, `${SERVICES}?${query}`);
      expect([400, 422]).toContain(status);
    },
  );

  // Of the real server: its checks of the options come before it parses the version.
  it.each([
    ['watch=1&resourceVersionMatch=NotOlderThan', 422],
    ['watch=1&sendInitialEvents=true', 422],
    ['resourceVersionMatch=Foo', 422],
    ['resourceVersionMatch=NotOlderThan', 400],
  ])('with a bad version and %s is answered with %i', async (query, expected) => {
    const { status } = await get(server, `${SERVICES}?resourceVersion=x&${query}`);
    expect(status).toBe(expected);
  });

  it('that is not HTTP has no effect on the server', async () => {
    const socket = connect(server.port, '127.0.0.1');
    onClose(() => socket.destroy());
    socket.on('error', () => undefined);
    socket.write('\0\x01\x02 nonsense\r\n\r\n');
    socket.resume();
    await until('end of the broken connection', () => socket.destroyed);
    expect((await get(server, '/healthz')).status).toBe(200);
  });
});

describe('a server', () => {
  it('rejects with the address when it cannot listen', async () => {
    const start = startServer({ port: server.port });
    await expect(start).rejects.toThrow(
      `cannot listen on 127.0.0.1:${server.port}: address already in use`,
    );
  });

  it('frees its port when its seed throws', async () => {
    const port = server.port;
    await server.close();
    const seed = () => {
      throw new Error('no seed');
    };
    await expect(startServer({ port, seed })).rejects.toThrow('no seed');
    expect((await startServer({ port })).port).toBe(port);
  });

  it.each(['10.0.0.0', 'fd00::/112', '10.0.0.0/32'])(
    'refuses %s as range',
    async (serviceRange) => {
      await expect(startServer({ serviceRange })).rejects.toThrow(/not a range/);
    },
  );

  it('may be closed twice', async () => {
    await server.close();
    await server.close();
    expect.assertions(0);
  });
});
