import { describe, expect, it } from '@jest/globals';
import {
  CONFIG_MAPS,
  configMap,
  get,
  namespace,
  send,
  TestWatch,
  textOf,
  server,
  startServerForEach,
} from './harness.js';

const MERGE = { 'content-type': 'application/merge-patch+json' };
const FINALIZERS = { Foreground: 'foregroundDeletion', Orphan: 'orphan' };

startServerForEach();

function names(): string[] {
  return server.list('ConfigMap').map(({ metadata }) => metadata.name);
}

/** Creates a ConfigMap that the named others own. */
async function createOwned(name: string, owners: string[], more: object = {}): Promise<void> {
  const ownerReferences = owners.map((owner) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    name: owner,
    uid: server.get('ConfigMap', 'default', owner)!.metadata.uid,
    blockOwnerDeletion: true,
  }));
  await server.apply(configMap(name, {}, { ownerReferences, ...more }));
}

function remove(name: string, options: object) {
  return send(server, 'DELETE', `${CONFIG_MAPS}/${name}`, { kind: 'DeleteOptions', ...options });
}

describe('a delete', () => {
  it.each(['Foreground', 'Orphan'] as const)(
    'with %s marks the object and answers with it; the garbage collector removes it',
    async (propagationPolicy) => {
      await server.apply(configMap('a'));
      const watch = await TestWatch.open(
        server,
        `${CONFIG_MAPS}?watch=1&resourceVersion=${server.resourceVersion}`,
      );
      const { status, body } = await remove('a', { propagationPolicy });
      expect([status, body.kind]).toEqual([200, 'ConfigMap']);
      const finalizers = [FINALIZERS[propagationPolicy]];
      expect(body.metadata).toMatchObject({ finalizers, deletionGracePeriodSeconds: 0 });
      expect(textOf(body.metadata?.deletionTimestamp)).toMatch(/Z$/);
      expect((await get(server, `${CONFIG_MAPS}/a`)).status).toBe(404);
      expect(await watch.names(2)).toEqual(['MODIFIED a', 'DELETED a']);
    },
  );

  it('in the background deletes dependents afterwards, and those of these', async () => {
    await server.apply(configMap('a'));
    await createOwned('b', ['a']);
    await createOwned('c', ['b']);
    expect((await remove('a', { propagationPolicy: 'Background' })).body.status).toBe('Success');
    expect(names()).toEqual([]);
  });

  it('in the foreground waits for the dependents that block it', async () => {
    await server.apply(configMap('a'));
    await createOwned('b', ['a'], { finalizers: ['example.com/x'] });
    await remove('a', { propagationPolicy: 'Foreground' });
    expect(names()).toEqual(['a', 'b']);
    await send(server, 'PATCH', `${CONFIG_MAPS}/b`, { metadata: { finalizers: null } }, MERGE);
    expect(names()).toEqual([]);
  });

  it('that orphans leaves dependents, without their owner', async () => {
    await server.apply(configMap('a'));
    await createOwned('b', ['a']);
    await remove('a', { orphanDependents: true });
    expect(names()).toEqual(['b']);
    expect(server.get('ConfigMap', 'default', 'b')?.metadata).not.toHaveProperty('ownerReferences');
  });

  it('leaves a dependent that has another owner', async () => {
    await server.apply([configMap('a'), configMap('b')]);
    await createOwned('c', ['a', 'b']);
    await remove('a', {});
    expect(names()).toEqual(['b', 'c']);
    await remove('b', {});
    expect(names()).toEqual([]);
  });

  it('leaves a namespace that may not be deleted, though its owner is gone', async () => {
    await server.apply(configMap('a'));
    const { uid } = server.get('ConfigMap', 'default', 'a')!.metadata;
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid }];
    const patch = { metadata: { ownerReferences } };
    await send(server, 'PATCH', '/api/v1/namespaces/kube-public', patch, MERGE);
    expect((await remove('a', {})).status).toBe(200);
    expect(server.get('Namespace', '', 'kube-public')).toBeDefined();
  });

  it('keeps the finalizers of others, and replaces those of the collector', async () => {
    await server.apply(configMap('a', {}, { finalizers: ['example.com/x', 'orphan'] }));
    const { body } = await remove('a', { propagationPolicy: 'Foreground' });
    expect(body.metadata?.finalizers).toEqual(['example.com/x', 'foregroundDeletion']);
    expect(server.get('ConfigMap', 'default', 'a')?.metadata.finalizers).toEqual(['example.com/x']);
    const more = { metadata: { finalizers: ['example.com/x', 'example.com/y'] } };
    const added = await send(server, 'PATCH', `${CONFIG_MAPS}/a`, more, MERGE);
    expect(added.status).toBe(422);
    expect(textOf(added.body.message)).toContain('no new finalizers can be added');
    await send(server, 'PATCH', `${CONFIG_MAPS}/a`, { metadata: { finalizers: [] } }, MERGE);
    expect(names()).toEqual([]);
  });

  it.each([
    [{ propagationPolicy: 'Foo' }, /propagationPolicy: Unsupported value: "Foo".*"Orphan"/],
    [{ propagationPolicy: 'Orphan', orphanDependents: true }, /cannot be both set/],
    [{ dryRun: ['Some'] }, /dryRun: Unsupported value: \["Some"\]: supported values: "All"/],
  ])('is refused with 422 with %j, also of a collection', async (options, message) => {
    await server.apply(configMap('a'));
    for (const path of [`${CONFIG_MAPS}/a`, CONFIG_MAPS]) {
      const { status, body } = await send(server, 'DELETE', path, options);
      expect([status, body.reason]).toEqual([422, 'Invalid']);
      expect(body.message).toMatch(/^DeleteOptions\.meta\.k8s\.io "" is invalid: /);
      expect(body.message).toMatch(message);
    }
    const { status } = await send(server, 'DELETE', `${CONFIG_MAPS}?propagationPolicy=Foo`);
    expect(status).toBe(422);
    expect((await send(server, 'DELETE', `${CONFIG_MAPS}/a?dryRun=`)).status).toBe(422);
    expect(names()).toEqual(['a']);
  });

  it.each([
    { gracePeriodSeconds: 'x' },
    { orphanDependents: 'x' },
    { preconditions: 1 },
    { kind: 'Service' },
  ])('is refused with 400 with %j', async (options) => {
    await server.apply(configMap('a'));
    expect((await remove('a', options)).status).toBe(400);
  });

  it.each([
    [{ uid: 'abc' }, /the UID in the precondition \(abc\) does not match the UID in record/],
    [{ resourceVersion: '1' }, /the ResourceVersion in the precondition \(1\) does not match/],
  ])('is a 409 when its precondition %j is not met', async (preconditions, message) => {
    await server.apply(configMap('a'));
    const { status, body } = await remove('a', { preconditions });
    expect([status, body.reason]).toEqual([409, 'Conflict']);
    expect(body.message).toMatch(message);
    const all = await send(server, 'DELETE', CONFIG_MAPS, { preconditions });
    expect(all.status).toBe(409);
    const query = new URLSearchParams(preconditions as Record<string, string>).toString();
    const byQuery = await send(server, 'DELETE', `${CONFIG_MAPS}/a?${query}`);
    expect([byQuery.status, byQuery.body.message]).toEqual([409, body.message]);
    expect(names()).toEqual(['a']);
  });

  it('of a collection takes preconditions of the query, too', async () => {
    await server.apply(configMap('a'));
    const { uid, resourceVersion } = server.get('ConfigMap', 'default', 'a')!.metadata;
    await server.apply(configMap('a', { x: '1' }));
    expect((await send(server, 'DELETE', `${CONFIG_MAPS}?uid=x`)).status).toBe(409);
    const old = await send(server, 'DELETE', `${CONFIG_MAPS}?resourceVersion=${resourceVersion}`);
    expect([old.status, names()]).toEqual([409, ['a']]);
    const query = `uid=${uid}&resourceVersion=`;
    expect((await send(server, 'DELETE', `${CONFIG_MAPS}?${query}`)).status).toBe(200);
    expect(names()).toEqual([]);
  });

  it('that is only tried shows the mark and sets none', async () => {
    await server.apply(configMap('a'));
    const options = { propagationPolicy: 'Foreground', dryRun: ['All'] };
    expect((await remove('a', options)).body.metadata?.finalizers).toEqual(['foregroundDeletion']);
    expect(server.get('ConfigMap', 'default', 'a')?.metadata.finalizers).toBeUndefined();
  });

  it('of a collection takes the same options, and answers with the objects as they were', async () => {
    await server.apply([configMap('a'), configMap('b', {}, { finalizers: ['example.com/x'] })]);
    await createOwned('c', ['a']);
    const before = server.list('ConfigMap').map(({ metadata }) => ({ metadata }));
    const options = { propagationPolicy: 'Foreground', gracePeriodSeconds: 5 };
    const { status, body } = await send(server, 'DELETE', CONFIG_MAPS, options);
    expect([status, body.items]).toMatchObject([200, before]);
    expect(names()).toEqual(['b']);
  });

  it('of a namespace shows it as Terminating before it is gone', async () => {
    await server.apply(namespace('shop'));
    await server.apply(configMap('a', {}, { namespace: 'shop' }));
    const watch = await TestWatch.open(
      server,
      `/api/v1/namespaces?watch=1&resourceVersion=${server.resourceVersion}`,
    );
    const { body } = await send(server, 'DELETE', '/api/v1/namespaces/shop');
    expect([body.kind, body.status?.phase]).toEqual(['Namespace', 'Terminating']);
    expect(await watch.names(2)).toEqual(['MODIFIED shop', 'DELETED shop']);
    expect(names()).toEqual([]);
  });
});
