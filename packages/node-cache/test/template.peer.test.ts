import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import {
  findRealNodeCache,
  needsRealNodeCache,
  RunningProgram,
  TemporaryFolder,
  unless,
} from '@kube-dns/testkit';
import { CLUSTER_SERVICE, environmentOf, LOCAL_ADDRESSES } from './support/template-start.js';
import { TEMPLATE_CASES, type TemplateCase } from './support/template-cases.js';

/** The original ends with the first line that it does not know, before it opens a port. */
const ENDS = 'nosuch.example {\n    nosuchdirective\n}\n';

const folder = new TemporaryFolder();
afterAll(() => folder.close());

async function writtenByOriginal(each: TemplateCase, name: string): Promise<string> {
  // The original reads both folders whole, so the file that it writes is in neither.
  const folders = ['config-map', 'template'].map((kind) => join(folder.path, name, kind));
  for (const path of folders) mkdirSync(path, { recursive: true });
  const [configMap = '', templates = ''] = folders;
  for (const [key, text] of Object.entries(each.configMap ?? {})) {
    writeFileSync(join(configMap, key), text);
  }
  const template = join(templates, 'Corefile.base');
  writeFileSync(template, ENDS + each.template);
  const conf = join(folder.path, name, 'Corefile');
  const program = new RunningProgram(
    'node-cache',
    findRealNodeCache()!,
    [
      ...['-setupinterface=false', '-setupiptables=false', '-metrics-listen-address=127.0.0.1:0'],
      ...['-localip', each.localAddresses ?? LOCAL_ADDRESSES, '-dns.port', String(each.port ?? 53)],
      ...['-basecorefile', template, '-conf', conf, '-kubednscm', configMap],
      ...['-upstreamsvc', CLUSTER_SERVICE],
    ],
    { env: environmentOf(each) },
  );
  try {
    await program.ended;
    return readFileSync(conf, 'utf8').slice(ENDS.length);
  } finally {
    await program.close();
  }
}

unless(needsRealNodeCache(), it)('the template is what the real node-cache writes', async () => {
  const written = await Promise.all(
    TEMPLATE_CASES.map((each, at) => writtenByOriginal(each, String(at))),
  );
  expect(written).toEqual(TEMPLATE_CASES.map((each) => each.written));
});
