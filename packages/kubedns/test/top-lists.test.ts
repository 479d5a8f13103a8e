import { afterEach, expect, it } from '@jest/globals';
import { createApiServer } from '@kube-dns/apiserver';
import { endPrograms, freePort, ownedBy, ScriptedNameServer } from '@kube-dns/testkit';
import { startKubedns } from './support/kubedns-process.js';
import { namespaceObject } from './support/objects.js';

const own = ownedBy(afterEach);
afterEach(() => endPrograms());

it('/status names who asks most, for which names, and for which that do not exist', async () => {
  const api = own(await createApiServer());
  await api.apply([namespaceObject('default')]);
  const upstream = own(await ScriptedNameServer.start());
  upstream.respond('a.example A', { answers: [{ type: 'A', ttl: 9, data: '192.0.2.1' }] });
  const port = await freePort();
  const kubedns = await startKubedns(api, upstream, [], { PROMETHEUS_PORT: `${port}` }).ready();
  for (let i = 0; i < 3; i++) await kubedns.ask('A.example', 'A');
  for (let i = 0; i < 2; i++) await kubedns.ask('no.default.svc.cluster.local', 'A');
  const response = await fetch(`http://127.0.0.1:${port}/status`);
  const { sections } = (await response.json()) as { sections: Record<string, unknown> };
  expect(sections).toMatchObject({
    'Top clients': [{ client: '127.0.0.1', questions: 5, error: 0 }],
    'Top names': [
      { name: 'a.example', questions: 3, error: 0 },
      { name: 'no.default.svc.cluster.local', questions: 2, error: 0 },
    ],
    'Top NXDOMAIN names': [{ name: 'no.default.svc.cluster.local', questions: 2, error: 0 }],
  });
});
