import { realpathSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  findCoreDns,
  freePort,
  needsCoreDns,
  needsPrograms,
  ownedBy,
  RunningProgram,
  runProgram,
  TemporaryFolder,
  unless,
} from '@kube-dns/testkit';
import { parseAllDocuments } from 'yaml';
import { runHere } from './support/run-command.js';

const own = ownedBy(afterEach);
const MANIFESTS = new URL('../../../manifests/kube-dns', import.meta.url);
const CONFIG_MAP = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'kube-dns' },
  data: {
    stubDomains: '{"acme.local":["127.0.0.1:5399"]}',
    upstreamNameservers: '["127.0.0.1:5398"]',
  },
};

interface KubeLike {
  readonly kind: string;
  readonly data?: Record<string, string>;
  readonly spec: {
    readonly template: {
      readonly spec: { readonly containers: { name: string; args: string[] }[] };
    };
  };
}

describe('kube-dns convert', () => {
  unless(needsPrograms('kubectl'), it)('writes objects that apply as it says', async () => {
    const folder = own(new TemporaryFolder());
    const corefile = folder.file('Corefile', '.:53 {\nkubernetes a.b\nforward . 10.0.0.1\n}\n');
    const { stdout } = await runHere(['convert', '--to=configmap', corefile]);
    const [, lines = ''] =
      /kustomization\.yaml of these two lines:\n((?:# {3}\w.*\n){2})/.exec(stdout) ?? [];
    // kustomize takes folders by their relative path only.
    const base = relative(realpathSync(folder.path), fileURLToPath(MANIFESTS));
    const kustomization = lines.replace(/^# */gm, '').replace('PATH/manifests/kube-dns', base);
    folder.file('pod.yaml', stdout);
    folder.file('kustomization.yaml', kustomization);
    const load = ['kustomize', '--load-restrictor=LoadRestrictionsNone', folder.path];
    const built = await runProgram('kubectl', load, { inheritsEnv: true });
    expect([built.end, built.stderr]).toEqual([0, '']);
    const objects = parseAllDocuments(built.stdout).map((each) => each.toJS() as KubeLike);
    const ofKind = (kind: string) => objects.find((each) => each.kind === kind);
    expect(ofKind('ConfigMap')?.data).toEqual({ upstreamNameservers: '["10.0.0.1"]' });
    const [kubedns] = ofKind('Deployment')?.spec.template.spec.containers ?? [];
    expect(kubedns).toMatchObject({ name: 'kubedns', image: expect.any(String) });
    expect(kubedns?.args).toContain('--domain=a.b.');
  });

  unless(needsCoreDns(), it)('writes a Corefile that CoreDNS takes', async () => {
    const folder = own(new TemporaryFolder());
    const map = folder.file('map.json', JSON.stringify(CONFIG_MAP));
    const port = await freePort();
    const args = `--port=${port} --server=/corp/127.0.0.1#5397 --address=/x/1.2.3.4 --local=/y.corp/ --host-record=h.x,1.2.3.5 --max-ttl=30 --max-cache-ttl=30 --filter-AAAA --use-stale-cache`;
    const { stdout } = await runHere(['convert', '--to=corefile', map, '--args', args]);
    // Without the directives that need a cluster or another port.
    const alone = stdout
      .replaceAll(/^ {4}kubernetes [^]*?^ {4}\}\n/gm, '')
      .replaceAll(/^ {4}(?:health [^]*?^ {4}\}|ready|prometheus .*)\n/gm, '');
    const corefile = folder.file('Corefile', alone);
    const server = own(new RunningProgram('CoreDNS', findCoreDns()!, ['-conf', corefile]));
    await server.waitForLine(/CoreDNS-/);
  });
});
