import { expect, it } from '@jest/globals';
import { denialAdvice } from './api-access.js';

const asker = (user: { name: string; authProvider?: object } | null) => ({
  getCurrentContext: () => 'prod',
  getCurrentUser: () => user,
});
const ME = { name: 'me' };
const POD = { name: 'inClusterUser', authProvider: { name: 'tokenFile' } };

it.each([
  [401, ME, '; the credentials of the context prod are not accepted'],
  [401, POD, '; the credentials of the service account are not accepted'],
  [401, { name: 'nobody' }, '; it wants credentials: give a kubeconfig'],
  [401, null, '; it wants credentials: give a kubeconfig'],
  [
    403,
    ME,
    '; it needs list and watch on services: see the ClusterRole in manifests/kube-dns/rbac.yaml',
  ],
  [404, ME, ''],
  [500, ME, ''],
])('a refusal with %i of %j says what to do', (status, user, advice) => {
  expect(denialAdvice(status, '/api/v1/services', asker(user), 'list and watch')).toBe(advice);
});

it.each([
  ['/apis/multicluster.x-k8s.io/v1alpha1/serviceimports', 'components/clusterset'],
  ['/apis/networking.k8s.io/v1/ingresses', 'components/names-from-outside'],
  ['/apis/gateway.networking.k8s.io/v1/httproutes', 'components/names-from-outside'],
  ['/apis/discovery.k8s.io/v1/endpointslices', 'kube-dns'],
])('the ClusterRole for %s is in the folder %s', (path, folder) => {
  const advice = denialAdvice(403, path, asker(ME), 'list and watch');
  expect(advice).toContain(`see the ClusterRole in manifests/${folder}/rbac.yaml`);
});
