import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  CONFIG_MAPS,
  configMap,
  get,
  send,
  service,
  SERVICES,
  server,
  startServerForEach,
} from './harness.js';

startServerForEach();

describe('an object', () => {
  it('is created, read, replaced and deleted', async () => {
    const created = await send(server, 'POST', SERVICES, service('web'));
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({ kind: 'Service', spec: { clusterIP: '10.96.1.1' } });
    const read = await get(server, `${SERVICES}/web`);
    expect(read.body).toEqual(created.body);

    const changed = {
      ...(read.body as object),
      spec: { ...service('web').spec, selector: { a: 'b' } },
    };
    const replaced = await send(server, 'PUT', `${SERVICES}/web`, changed);
    expect(replaced.status).toBe(200);
    expect(replaced.body).toMatchObject({ spec: { clusterIP: '10.96.1.1', selector: { a: 'b' } } });

    const deleted = await send(server, 'DELETE', `${SERVICES}/web`);
    expect(deleted.body).toMatchObject({ kind: 'Service', metadata: { name: 'web' } });
    expect((await get(server, `${SERVICES}/web`)).status).toBe(404);
  });

  it('may be written as YAML', async () => {
    const yaml = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: "1"\n';
    const headers = { 'content-type': 'application/yaml' };
    const { status, body } = await send(server, 'POST', CONFIG_MAPS, yaml, headers);
    expect(status).toBe(201);
    expect(body).toMatchObject({ data: { x: '1' } });
  });

  it('is answered with a Status when its kind does not return deleted objects', async () => {
    await server.apply(configMap('a'));
    const { body } = await send(server, 'DELETE', `${CONFIG_MAPS}/a`, { kind: 'DeleteOptions' });
    expect(body).toMatchObject({
      kind: 'Status',
      status: 'Success',
      details: { name: 'a', kind: 'configmaps' },
    });
  });

  it('is created by a PUT where its kind allows that', async () => {
    expect((await send(server, 'PUT', `${SERVICES}/web`, service('web'))).status).toBe(201);
    const versioned = service('old', {}, { resourceVersion: '5' });
    expect((await send(server, 'PUT', `${SERVICES}/old`, versioned)).status).toBe(201);
    expect((await send(server, 'PUT', `${CONFIG_MAPS}/a`, configMap('a'))).status).toBe(404);
    const withUid = await send(server, 'PUT', `${SERVICES}/x`, service('x', {}, { uid: 'abc' }));
    expect([withUid.status, withUid.body.reason]).toEqual([409, 'Conflict']);
  });

  it('is replaced only where UID, version, name and namespace are those of the stored one', async () => {
    await server.apply(configMap('a'));
    const put = (name: string, metadata: object = {}) =>
      send(server, 'PUT', `${CONFIG_MAPS}/a`, configMap(name, {}, metadata));
    expect((await put('a', { uid: 'abc' })).status).toBe(409);
    expect((await put('a', { resourceVersion: '1' })).status).toBe(409);
    expect((await put('a', { resourceVersion: '0' })).status).toBe(200);
    expect((await put('a', { namespace: 'shop' })).body.message).toBe(
      'the namespace of the provided object does not match the namespace sent on the request',
    );
    expect((await put('b')).body.message).toBe(
      'the name of the object (b) does not match the name on the URL (a)',
    );
    expect((await put('')).body.message).toBe(
      'the name of the object (a based on URL) was undeterminable: name must be provided',
    );
    const patch = { metadata: { uid: 'abc' } };
    const type = { 'content-type': 'application/merge-patch+json' };
    const { status, body } = await send(server, 'PATCH', `${CONFIG_MAPS}/a`, patch, type);
    expect([status, body.message]).toEqual([
      422,
      'ConfigMap "a" is invalid: metadata.uid: Invalid value: "abc": field is immutable',
    ]);
  });

  it('is not stored by a dry run', async () => {
    const { status, body } = await send(server, 'POST', `${SERVICES}?dryRun=All`, service('web'));
    expect(status).toBe(201);
    expect(body.spec?.clusterIP).toBe('10.96.1.1');
    expect(server.get('Service', 'default', 'web')).toBeUndefined();
    await server.apply(configMap('a'));
    await send(server, 'DELETE', `${CONFIG_MAPS}/a?dryRun=All`);
    expect(server.get('ConfigMap', 'default', 'a')).toBeDefined();
  });

  it('loses unknown fields with a warning, or is refused when they are checked', async () => {
    const typo = service('web', { prots: [] });
    const strict = await send(server, 'POST', `${SERVICES}?fieldValidation=Strict`, typo);
    expect(strict.status).toBe(400);
    expect(strict.body.message).toMatch(/strict decoding error: unknown field "spec.prots"/);
    const warned = await send(server, 'POST', SERVICES, typo);
    expect(warned.status).toBe(201);
    expect(warned.headers.get('warning')).toBe(`299 - "unknown field \\"spec.prots\\""`);
    expect(warned.body.spec).not.toHaveProperty('prots');
  });

  it('is printed as a table', async () => {
    await server.apply(service('web', { type: 'NodePort' }));
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
    const { body } = await get(server, `${SERVICES}/web`, accept);
    expect(body).toMatchObject({
      kind: 'Table',
      apiVersion: 'meta.k8s.io/v1',
      rows: [{ object: { kind: 'PartialObjectMetadata', metadata: { name: 'web' } } }],
    });
    const cells = body.rows?.[0]?.cells as unknown as string[];
    expect(cells.slice(0, 5)).toEqual(['web', 'NodePort', '10.96.1.1', '<none>', '80:30000/TCP']);
    const columns = body.columnDefinitions as unknown as { name: string }[];
    expect(columns.map(({ name }) => name)).toContain('Cluster-IP');
  });

  it('is shown without its content to clients that want only metadata', async () => {
    await server.apply(service('web'));
    const accept = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
    const { body } = await get(server, SERVICES, accept);
    expect(body.kind).toBe('PartialObjectMetadataList');
    expect(body.items?.[1]).toEqual({
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata: server.get('Service', 'default', 'web')?.metadata,
    });
  });
});

describe('a patch', () => {
  const patch = (type: string, body: unknown, path = `${SERVICES}/web`) =>
    send(server, 'PATCH', path, body, { 'content-type': `application/${type}` });

  beforeEach(async () => {
    const ports = [
      { name: 'a', port: 80 },
      { name: 'b', port: 90 },
    ];
    await server.apply(service('web', { ports }));
  });

  it('merges', async () => {
    const { status, body } = await patch('merge-patch+json', {
      metadata: { labels: { x: 'y' } },
      spec: { ports: [{ port: 1 }] },
    });
    expect(status).toBe(200);
    expect(body.metadata?.labels).toEqual({ x: 'y' });
    expect(body.spec?.ports).toEqual([{ port: 1, protocol: 'TCP', targetPort: 1 }]);
  });

  it('merges ports by number when it is strategic', async () => {
    const spec = { ports: [{ port: 90, targetPort: 99 }] };
    const { body } = await patch('strategic-merge-patch+json', { spec });
    expect(body.spec?.ports).toMatchObject([{ port: 80 }, { port: 90, targetPort: 99 }]);
  });

  it('applies JSON patch operations', async () => {
    const operations = [{ op: 'remove', path: '/spec/ports/0' }];
    const { body } = await patch('json-patch+json', operations);
    expect(body.spec?.ports).toMatchObject([{ port: 90 }]);
  });

  it('is refused as server-side apply', async () => {
    const { status, body } = await patch('apply-patch+yaml', 'a: 1');
    expect(status).toBe(415);
    expect(body.message).toMatch(
      /^server-side apply is not supported here: use `kubectl apply` without/,
    );
  });

  it('is refused when it names an older version', async () => {
    const metadata = { resourceVersion: '1' };
    const { status, body } = await patch('merge-patch+json', { metadata });
    expect(status).toBe(409);
    expect(body.reason).toBe('Conflict');
  });

  it('is refused when its result is not valid, and changes nothing', async () => {
    const before = server.get('Service', 'default', 'web');
    const { status } = await patch('merge-patch+json', { spec: { ports: null } });
    expect(status).toBe(422);
    expect(server.get('Service', 'default', 'web')).toEqual(before);
  });
});

describe('a collection', () => {
  it('is deleted as far as the selector matches', async () => {
    await server.apply([
      configMap('a', {}, { labels: { app: 'x' } }),
      configMap('b', {}, { labels: { app: 'x' } }),
      configMap('c'),
    ]);
    const { body } = await send(server, 'DELETE', `${CONFIG_MAPS}?labelSelector=app%3Dx`);
    expect(body.kind).toBe('ConfigMapList');
    expect(server.list('ConfigMap').map(({ metadata }) => metadata.name)).toEqual(['c']);
  });
});
