import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer, type Manifest } from '@kube-dns/apiserver';
import {
  ask,
  endPrograms,
  findCoreDns,
  freePort,
  Kubedns,
  needsCoreDns,
  TemporaryFolder,
  unless,
} from '@kube-dns/testkit';
import { parseAllDocuments } from 'yaml';
import { startCoreDns } from '../compare/support/sample-cluster.js';
import { startCommand } from '../support/run-command.js';

const CLUSTER = new URL('cluster.yaml', import.meta.url);
const LIMIT_MS = 60_000;
const ZONE = 'svc.cluster.local';

/** A question, a piece of what explain says that CoreDNS would say, and what that says: `RCODE TTL DATA`. */
const ROWS: readonly (readonly [name: string, type: string, note: string, answer: RegExp])[] = [
  [`web.shop.${ZONE}`, 'A', 'TTL 5 in place of 30', /^NOERROR 5 10\.96\.20\.1$/],
  [`*.shop.${ZONE}`, 'A', 'it has no wildcards', /^NXDOMAIN$/],
  ['10-9-9-9.shop.pod.cluster.local', 'A', 'unless its Corefile has "pods insecure"', /^NXDOMAIN$/],
  [`10-244-1-5.web.shop.${ZONE}`, 'A', 'the address of the endpoint', /^NOERROR 5 10\.244\.1\.5$/],
  ['5.1.244.10.in-addr.arpa', 'PTR', 'the name of that endpoint', /^NOERROR 5 10-244-1-5\.web\./],
  [`web.shop.${ZONE}`, 'ANY', 'it does not answer ANY', /^NOERROR$/],
  [`_postgres._tcp.db.data.${ZONE}`, 'A', 'the name of a port', /^NOERROR 5 10\.244\.2\.1$/],
  [`_tcp.db.data.${ZONE}`, 'A', 'the names between a service and its ports', /^NXDOMAIN$/],
  ['7.1.244.10.in-addr.arpa', 'PTR', 'its address with dashes', /^NOERROR 5 10-244-1-7\.workers\./],
  [`db.data.${ZONE}`, 'SRV', 'other priorities and weights', /"priority":0,"weight":100/],
  ['cluster.local', 'SOA', 'other timers: 7200 1800 86400', /"refresh":7200,"retry":1800/],
];

const folder = new TemporaryFolder();
let api: ApiServer;
let kubedns: Kubedns;

beforeAll(async () => {
  api = await createApiServer();
  const documents = parseAllDocuments(readFileSync(CLUSTER, 'utf8'));
  await api.apply(documents.map((document) => document.toJS() as Manifest));
  kubedns = await Kubedns.start({ flags: [`--kube-master-url=${api.url}`] });
  await kubedns.ready();
}, LIMIT_MS);

afterAll(async () => {
  await endPrograms();
  await Promise.all([api.close(), folder.close()]);
});

describe('what explain says that CoreDNS would say', () => {
  it.each(ROWS)('is there for %s %s: %s', async (name, type, note) => {
    const { readiness } = kubedns.ports;
    const flags = [`--kubedns=${readiness}`, '--dnsmasq=0', '--node-cache=0', '--json'];
    const command = startCommand(['explain', `${name}.`, type, ...flags]);
    await command.ended;
    const { coredns } = JSON.parse(command.stdout) as { coredns: string[] };
    expect(coredns.join('; ')).toContain(note);
  });

  unless(needsCoreDns(), it)(
    'is what CoreDNS says',
    async () => {
      const port = await freePort();
      const corefile = folder.file(
        'Corefile',
        `.:${port} {\n  kubernetes cluster.local in-addr.arpa ip6.arpa {\n    endpoint ${api.url}\n  }\n}\n`,
      );
      const coredns = await startCoreDns(findCoreDns()!, corefile);
      for (const [name, type, note, answer] of ROWS) {
        const { rcode, answers } = await ask(port, { name, type });
        const records = answers.map((record) => [
          'ttl' in record ? record.ttl : 0,
          'data' in record ? textOf(record.data) : '',
        ]);
        expect([note, [rcode, ...records.flat()].join(' ')]).toEqual([
          note,
          expect.stringMatching(answer),
        ]);
      }
      await coredns.close();
    },
    LIMIT_MS,
  );
});

function textOf(data: unknown): string {
  return typeof data === 'string' ? data : JSON.stringify(data);
}
