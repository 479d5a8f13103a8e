import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import {
  endPrograms,
  needsPrograms,
  Owned,
  ScriptedNameServer,
  TemporaryFolder,
  TestAuthority,
  Unbound,
  unless,
} from '@kube-dns/testkit';
import { startKubedns } from './support/kubedns-process.js';

const owned = new Owned();
const why = needsPrograms('unbound');
let api: ApiServer;
let plain: ScriptedNameServer;
let unbound: Unbound;
let folder: TemporaryFolder;

beforeAll(async () => {
  if (why !== undefined) return;
  api = owned.add(await createApiServer());
  plain = owned.add(await ScriptedNameServer.start());
  folder = owned.add(new TemporaryFolder());
  const authority = new TestAuthority();
  folder.file('ca.pem', authority.cert);
  const certificate = authority.issue({ names: ['dns.example'] });
  const address = '192.0.2.7';
  unbound = owned.add(await Unbound.start({ certificate, domain: 'tls.test', address }));
});
afterAll(async () => {
  await endPrograms();
  await owned.close();
});

unless(why, it).each([
  ['the name of its certificate', 'dns.example', 'NOERROR', ['www.tls.test A 192.0.2.7']],
  ['another one', 'other.example', 'SERVFAIL', []],
])('asks upstreamNameservers over TLS with %s', async (_which, name, rcode, answers) => {
  const config = owned.add(new TemporaryFolder());
  const servers = [`tls://127.0.0.1:${unbound.ports.tls}%${name}`];
  config.file('upstreamNameservers', JSON.stringify(servers));
  const flags = [`--config-dir=${config.path}`, `--tls-ca=${folder.path}/ca.pem`];
  const kubedns = await startKubedns(api, plain, flags).ready();
  const answer = await kubedns.ask('www.tls.test', 'A');
  expect(answer).toMatchObject({ rcode, answers });
  expect(plain.asked).toEqual([]);
});
