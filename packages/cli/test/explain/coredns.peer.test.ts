import { readFileSync } from 'node:fs';
import { afterEach, expect, it } from '@jest/globals';
import { createApiServer, type Manifest } from '@kube-dns/apiserver';
import {
  ask,
  findCoreDns,
  freePort,
  needsCoreDns,
  ownedBy,
  TemporaryFolder,
  unless,
} from '@kube-dns/testkit';
import { parseAllDocuments } from 'yaml';
import { startCoreDns } from '../compare/support/sample-cluster.js';
import { COREDNS_ROWS } from './support/coredns-rows.js';

const own = ownedBy(afterEach);
const CLUSTER = new URL('cluster.yaml', import.meta.url);

function textOf(data: unknown): string {
  return typeof data === 'string' ? data : JSON.stringify(data);
}

unless(needsCoreDns(), it)(
  'what explain says that CoreDNS would say is what CoreDNS says',
  async () => {
    const api = own(await createApiServer());
    const documents = parseAllDocuments(readFileSync(CLUSTER, 'utf8'));
    await api.apply(documents.map((document) => document.toJS() as Manifest));
    const port = await freePort();
    const corefile = own(new TemporaryFolder()).file(
      'Corefile',
      `.:${port} {\n  kubernetes cluster.local in-addr.arpa ip6.arpa {\n    endpoint ${api.url}\n  }\n}\n`,
    );
    own(await startCoreDns(findCoreDns()!, corefile));
    for (const [name, type, note, answer] of COREDNS_ROWS) {
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
  },
);
