import { TemporaryFolder } from '@kube-dns/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { parsePod } from './manifest.js';
import { useRealCluster } from './real-cluster.js';

const folder = new TemporaryFolder();
const KUBECONFIG = folder.file(
  'kubeconfig',
  `clusters: [{ name: c, cluster: { server: 'http://127.0.0.1:1' } }]
contexts: [{ name: x, context: { cluster: c, user: '' } }]
current-context: x
`,
);

afterAll(() => folder.close());

function pod(...containers: string[]) {
  const text = `kind: Pod
metadata: { name: p }
spec: { containers: [${containers.join(', ')}] }`;
  return parsePod(text, 'pod.yaml');
}

describe('a real cluster in place of the API server', () => {
  it('leaves the API server out and gives kubedns the kubeconfig', () => {
    const { containers } = useRealCluster(
      pod(
        '{ name: api, image: apiserver }',
        '{ name: k, image: kubedns, args: [--kube-master-url=http://127.0.0.1:1, --v=2] }',
        '{ name: d, image: dnsmasq, args: [-k] }',
      ),
      KUBECONFIG,
    );
    expect(containers.map(({ name }) => name)).toEqual(['k', 'd']);
    expect(containers[0]?.args).toEqual(['--v=2', `--kubecfg-file=${KUBECONFIG}`]);
    expect(containers[1]?.args).toEqual(['-k']);
  });

  it('replaces the flags in each of their spellings', () => {
    const container = `{ name: k, command: [kubedns, --kube_master_url, http://a, --v=1], args: [
      -kube-master-url=http://b, --kubecfg-file, /old, --domain=d.] }`;
    const [kubedns] = useRealCluster(pod(container), KUBECONFIG).containers;
    expect(kubedns?.command).toEqual(['kubedns']);
    expect(kubedns?.args).toEqual(['--v=1', '--domain=d.', `--kubecfg-file=${KUBECONFIG}`]);
  });

  it.each([
    ['/nowhere/config', 'cannot read the kubeconfig /nowhere/config: no such file or directory'],
    [folder.path, /: is a directory$/],
    [folder.file('empty', ''), /^cannot read the kubeconfig .*empty: \S+/],
    [folder.file('list', '[1]'), /^cannot read the kubeconfig .*list: \S+/],
    [folder.file('broken', 'clusters: ['), /^cannot read the kubeconfig .*broken: not valid: /],
    [
      folder.file('other', 'clusters: []\ncurrent-context: gone\n'),
      /^cannot read the kubeconfig .*other: it has no context gone, /,
    ],
  ])('refuses the kubeconfig %s', (file, message) => {
    expect(() => useRealCluster(pod('{ name: k, image: kubedns }'), file)).toThrow(message);
  });

  it('refuses a pod without kubedns', () => {
    expect(() => useRealCluster(pod('{ name: d, image: dnsmasq }'), KUBECONFIG)).toThrow(
      'pod.yaml: there is no kubedns container to give the kubeconfig to',
    );
  });
});
