import { afterEach, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { createApiServer } from '@kube-dns/apiserver';
import {
  endPrograms,
  needsPrograms,
  ownedBy,
  readDnstap,
  ScriptedNameServer,
  TemporaryFolder,
  unless,
} from '@kube-dns/testkit';
import { startKubedns } from './support/kubedns-process.js';
import { namespaceObject, serviceObject } from './support/objects.js';

const PORTS = [{ name: 'http', port: 80 }];
const own = ownedBy(afterEach);
afterEach(() => endPrograms());

unless(needsPrograms('dnstap-read'), it)(
  '--dnstap has authoritative messages for clients, and those of a forwarder for servers',
  async () => {
    const path = join(own(new TemporaryFolder()).path, 'tap');
    const api = own(await createApiServer());
    await api.apply([
      namespaceObject('default'),
      serviceObject({ clusterIPs: ['10.96.0.5'], ports: PORTS }),
    ]);
    const upstream = own(await ScriptedNameServer.start());
    const args = [`--dnstap=file:${path}`, '--drain-time=0s'];
    const kubedns = await startKubedns(api, upstream, args).ready();
    await kubedns.ask('web.default.svc.cluster.local', 'A');
    await kubedns.ask('a.example', 'A', { isOverTcp: true });
    await kubedns.program.close('SIGTERM');
    // The port is the system's choice, and not that of the command line.
    const ours = '127.0.0.1:0';
    const theirs = `127.0.0.1:${upstream.port}`;
    const rows = await readDnstap(path);
    expect(rows.map((row) => [row.type, row.answerer, row.protocol, row.question])).toEqual([
      ['AQ', ours, 'UDP', 'web.default.svc.cluster.local/IN/A'],
      ['AR', ours, 'UDP', 'web.default.svc.cluster.local/IN/A'],
      ['FQ', theirs, 'TCP', 'a.example/IN/A'],
      ['FR', theirs, 'TCP', 'a.example/IN/A'],
      ['AQ', ours, 'TCP', 'a.example/IN/A'],
      ['AR', ours, 'TCP', 'a.example/IN/A'],
    ]);
  },
);
