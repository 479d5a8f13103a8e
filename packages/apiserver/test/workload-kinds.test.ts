import { describe, expect, it } from '@jest/globals';
import { get, send, textOf, server, startServerForEach } from './harness.js';

const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
const ROLES = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
const MERGE = { 'content-type': 'application/merge-patch+json' };
const STRATEGIC = { 'content-type': 'application/strategic-merge-patch+json' };

startServerForEach();

const labels = { app: 'web' };

function deployment(spec: object = {}): object {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web' },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'a', image: 'a:1' }] } },
      ...spec,
    },
  };
}

describe('a deployment', () => {
  it('has one replica and rolling updates by default', async () => {
    const { status, body } = await send(server, 'POST', DEPLOYMENTS, deployment());
    expect(status).toBe(201);
    expect(body.spec).toMatchObject({ replicas: 1, strategy: { type: 'RollingUpdate' } });
    expect(body.metadata?.generation).toBe(1);
  });

  it('cannot change its selector', async () => {
    await send(server, 'POST', DEPLOYMENTS, deployment());
    const patch = {
      spec: {
        selector: { matchLabels: { tier: 'x' } },
        template: { metadata: { labels: { tier: 'x' } } },
      },
    };
    const { status, body } = await send(server, 'PATCH', `${DEPLOYMENTS}/web`, patch, MERGE);
    expect(status).toBe(422);
    expect(textOf(body.message)).toMatch(/spec\.selector: .*field is immutable/);
  });

  it('has a scale that is read and written, and nothing else of it', async () => {
    await send(server, 'POST', DEPLOYMENTS, deployment({ replicas: 2 }));
    const path = `${DEPLOYMENTS}/web/scale`;
    const { body } = await get(server, path);
    expect(body).toMatchObject({
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      spec: { replicas: 2 },
      status: { replicas: 0, selector: 'app=web' },
    });
    await send(server, 'PATCH', path, { spec: { replicas: 7 } }, MERGE);
    expect((await get(server, `${DEPLOYMENTS}/web`)).body.spec).toMatchObject({ replicas: 7 });
    const stale = await send(server, 'PUT', path, body);
    expect([stale.status, stale.body.reason]).toEqual([409, 'Conflict']);
    const wrong = await send(server, 'PATCH', path, { spec: { replicas: -1 } }, MERGE);
    expect(wrong.status).toBe(400);
    expect((await send(server, 'DELETE', path)).status).toBe(405);
    expect((await get(server, '/api/v1/namespaces/default/configmaps/web/status')).status).toBe(
      404,
    );
    expect((await get(server, '/api/v1/namespaces/default/configmaps/web/scale')).status).toBe(404);
  });

  it('must select the pods of its template', async () => {
    const other = deployment({ selector: { matchLabels: { app: 'other' } } });
    const { status, body } = await send(server, 'POST', DEPLOYMENTS, other);
    expect(status).toBe(422);
    expect(textOf(body.message)).toMatch(/`selector` does not match template `labels`/);
  });

  it('must have containers', async () => {
    const empty = deployment({ template: { metadata: { labels }, spec: { containers: [] } } });
    const { status, body } = await send(server, 'POST', DEPLOYMENTS, empty);
    expect(status).toBe(422);
    expect(textOf(body.message)).toMatch(/spec\.template\.spec\.containers: Required value/);
  });

  it('has its containers merged by name, and a new generation with each change', async () => {
    await send(server, 'POST', DEPLOYMENTS, deployment());
    const containers = [{ name: 'b', image: 'b:1' }];
    const patch = { spec: { template: { spec: { containers } } } };
    const { body } = await send(server, 'PATCH', `${DEPLOYMENTS}/web`, patch, STRATEGIC);
    expect(body.spec?.template?.spec?.containers).toEqual([
      { name: 'b', image: 'b:1' },
      { name: 'a', image: 'a:1' },
    ]);
    expect(body.metadata?.generation).toBe(2);
  });
});

describe('a cluster role', () => {
  const role = (rules: object[]) => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'system:web' },
    rules,
  });

  it('is created by a PUT', async () => {
    expect((await send(server, 'PUT', `${ROLES}/system:web`, role([]))).status).toBe(201);
  });

  it('may have a colon in its name', async () => {
    const rules = [{ apiGroups: [''], resources: ['services'], verbs: ['list'] }];
    expect((await send(server, 'POST', ROLES, role(rules))).status).toBe(201);
    expect((await get(server, `${ROLES}/system:web`)).body.rules).toEqual(rules);
  });

  it.each([
    ['verbs', { apiGroups: [''], resources: ['services'] }],
    ['apiGroups', { resources: ['services'], verbs: ['list'] }],
    ['resources', { apiGroups: [''], verbs: ['list'] }],
  ])('names %s in each rule', async (field, rule) => {
    const { status, body } = await send(server, 'POST', ROLES, role([rule]));
    expect(status).toBe(422);
    expect(textOf(body.message)).toContain(`rules[0].${field}: Required value`);
  });
});

describe('a cluster role binding', () => {
  const binding = (subject: object) => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'web' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'web' },
    subjects: [subject],
  });
  const account = { kind: 'ServiceAccount', name: 'web', namespace: 'default' };

  it('cannot change its role', async () => {
    await send(server, 'POST', BINDINGS, binding(account));
    const patch = { roleRef: { name: 'other' } };
    const { status, body } = await send(server, 'PATCH', `${BINDINGS}/web`, patch, MERGE);
    expect(status).toBe(422);
    expect(textOf(body.message)).toMatch(/cannot change roleRef/);
  });

  it('must name the namespace of its service account', async () => {
    const { status, body } = await send(
      server,
      'POST',
      BINDINGS,
      binding({ ...account, namespace: '' }),
    );
    expect(status).toBe(422);
    expect(textOf(body.message)).toMatch(/subjects\[0\]\.namespace: Required value/);
  });
});

describe('a disruption budget', () => {
  it('is replaced only with its version, and has its selector replaced by a patch', async () => {
    const budget = {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'web' },
      spec: { minAvailable: 1, selector: { matchLabels: labels } },
    };
    await send(server, 'POST', BUDGETS, budget);
    const { status, body } = await send(server, 'PUT', `${BUDGETS}/web`, budget);
    expect(status).toBe(422);
    expect(textOf(body.message)).toMatch(/resourceVersion: .*must be specified for an update/);
    const selector = { matchLabels: { tier: 'x' } };
    const patched = await send(
      server,
      'PATCH',
      `${BUDGETS}/web`,
      { spec: { selector } },
      STRATEGIC,
    );
    expect(patched.body.spec?.selector).toEqual(selector);
    expect(patched.body.metadata?.generation).toBe(2);
  });

  it('cannot set both minAvailable and maxUnavailable', async () => {
    const budget = {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'web' },
      spec: { minAvailable: 1, maxUnavailable: '10%', selector: { matchLabels: labels } },
    };
    const { status, body } = await send(server, 'POST', BUDGETS, budget);
    expect(status).toBe(422);
    expect(textOf(body.message)).toMatch(/cannot be both set/);
  });
});
