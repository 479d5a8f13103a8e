import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { LoopbackUpstream, needsPrograms, outputOf, unless, untilEqual } from '@kube-dns/testkit';
import { LocalPod } from './support/local-pod.js';

const pod = new LocalPod();
const LIMIT = { limitMs: 10_000 };
let stub: LoopbackUpstream;

beforeAll(async () => {
  stub = await LoopbackUpstream.start();
  await pod.prepare({ keepsConfigMap: true });
  await pod.start();
}, 60_000);

afterAll(async () => {
  await pod.close();
  await stub.close();
});

const dig = (...words: string[]) =>
  outputOf('dig', ['@127.0.0.1', '-p', String(pod.ports.dns), '+time=2', '+short', ...words]);
/** The servers of dnsmasq, which are those of its configuration. */
const servers = async () =>
  (await dig('chaos', 'txt', 'servers.bind')).replaceAll(/ \d+ \d+"/g, '"');

/** Applies, patches and deletes the ConfigMap with these means, and looks at the answers after each. */
async function changeIt(means: {
  readonly create: (data: object) => Promise<unknown>;
  readonly patch: (data: object) => Promise<unknown>;
  readonly remove: () => Promise<unknown>;
}): Promise<void> {
  const before = await servers();
  const stubDomains = JSON.stringify({ 'acme.test': [`127.0.0.1:${stub.port}`] });
  await means.create({ stubDomains });
  await untilEqual('192.0.2.1', () => dig('www.acme.test').catch(() => ''), LIMIT);
  const moved = JSON.stringify({
    'acme.test': ['127.0.0.1:9'],
    'corp.test': [`127.0.0.1:${stub.port}`],
  });
  await means.patch({ stubDomains: moved });
  await untilEqual('192.0.2.1', () => dig('www.corp.test').catch(() => ''), LIMIT);
  await means.remove();
  await untilEqual(before, servers, LIMIT);
  await pod.run?.waitForLine(/kube-dns +\| the volume of ConfigMap kube-dns has no keys/);
}

unless(needsPrograms('dig'), describe)('a ConfigMap kube-dns in the local API', () => {
  it('takes effect as kubelet would mount it, by HTTP', async () => {
    const folder = `http://127.0.0.1:${pod.ports.api}/api/v1/namespaces/kube-system/configmaps`;
    const send = async (method: string, url: string, type: string, body?: object) => {
      const headers = { 'content-type': type };
      const response = await fetch(url, {
        method,
        headers,
        body: body === undefined ? null : JSON.stringify(body),
      });
      expect(response.ok).toBe(true);
    };
    const metadata = { name: 'kube-dns', namespace: 'kube-system' };
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata };
    await changeIt({
      create: (data) => send('POST', folder, 'application/json', { ...object, data }),
      patch: (data) =>
        send('PATCH', `${folder}/kube-dns`, 'application/merge-patch+json', { data }),
      remove: () => send('DELETE', `${folder}/kube-dns`, 'application/json'),
    });
  }, 60_000);

  unless(needsPrograms('kubectl'), it)(
    'takes effect when kubectl applies it',
    async () => {
      const kubectl = (...words: string[]) =>
        outputOf(
          'kubectl',
          [`--server=http://127.0.0.1:${pod.ports.api}`, '--namespace=kube-system', ...words],
          { HOME: pod.folder, KUBECONFIG: `${pod.folder}/kubeconfig` },
        );
      await changeIt({
        create: (data) => {
          const metadata = { name: 'kube-dns' };
          const text = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
          return kubectl('apply', '-f', pod.file('config-map.json', text));
        },
        patch: (data) => kubectl('patch', 'configmap', 'kube-dns', '-p', JSON.stringify({ data })),
        remove: () => kubectl('delete', 'configmap', 'kube-dns'),
      });
    },
    60_000,
  );
});
