import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { needsPrograms, unless, until } from '@kube-dns/testkit';
import type { ApiServer } from '../src/index.js';
import { closeAll, configMap, onClose, startServer } from './harness.js';

const run = promisify(execFile);

let folder: string;
let server: ApiServer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'apiserver-kubectl-'));
});
afterAll(() => rm(folder, { recursive: true }));
beforeEach(async () => {
  server = await startServer();
});
afterEach(closeAll);

/** A temporary home folder, so that neither a real cluster nor its cached discovery is used. */
function environment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, HOME: folder, KUBECONFIG: join(folder, 'none') };
}

async function kubectl(...args: string[]): Promise<string> {
  const all = [`--server=${server.url}`, '--request-timeout=60s', ...args];
  const { stdout } = await run('kubectl', all, { env: environment() });
  return stdout;
}

async function write(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

function web(ports: string, extra = ''): string {
  return `apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  ports: ${ports}\n${extra}`;
}

const DEPLOYMENT = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a, image: "a:1"}]}}
`;

unless(needsPrograms('kubectl'), describe)('kubectl', () => {
  it('prints services of all namespaces as a table', async () => {
    const [head, row] = (await kubectl('get', 'svc', '-A')).split('\n');
    expect(head).toMatch(/^NAMESPACE +NAME +TYPE +CLUSTER-IP +EXTERNAL-IP +PORT\(S\) +AGE$/);
    expect(row).toMatch(/^default +kubernetes +ClusterIP +10\.96\.0\.1 +<none> +443\/TCP +\d+s$/);
  });

  it('finds every kind by its short name', async () => {
    const out = await kubectl('get', 'ns,svc,ep,endpointslices,po,no,cm', '-A', '-o', 'name');
    expect(out.split('\n')).toEqual(
      expect.arrayContaining([
        'namespace/kube-system',
        'service/kubernetes',
        'endpoints/kubernetes',
        'endpointslice.discovery.k8s.io/kubernetes',
      ]),
    );
  });

  it('applies a service, changes a port of it and removes one', async () => {
    const two = '[{name: a, port: 80}, {name: b, port: 90}]';
    const path = await write('web.yaml', web(two));
    expect(await kubectl('apply', '-f', path)).toBe('service/web created\n');
    await write('web.yaml', web('[{name: a, port: 80}, {name: b, port: 90, targetPort: 99}]'));
    expect(await kubectl('apply', '-f', path)).toBe('service/web configured\n');
    expect(server.get('Service', 'default', 'web')?.spec.ports).toEqual([
      { name: 'a', port: 80, protocol: 'TCP', targetPort: 80 },
      { name: 'b', port: 90, protocol: 'TCP', targetPort: 99 },
    ]);
    await write('web.yaml', web('[{name: b, port: 91}]'));
    await kubectl('apply', '-f', path);
    expect(server.get('Service', 'default', 'web')?.spec.ports).toEqual([
      { name: 'b', port: 91, protocol: 'TCP', targetPort: 91 },
    ]);
    expect(await kubectl('apply', '-f', path)).toBe('service/web unchanged\n');
  });

  it('prints why an object is refused', async () => {
    const invalid = await write('invalid.yaml', web('[{port: 0}]'));
    await expect(kubectl('apply', '-f', invalid)).rejects.toThrow(
      /The Service "web" is invalid: \n?.*spec\.ports\[0\]\.port: Invalid value: 0/,
    );
    const typo = await write('typo.yaml', web('[{port: 80}]', '  selectr: {}\n'));
    await expect(kubectl('apply', '-f', typo)).rejects.toThrow(/unknown field "spec.selectr"/);
  });

  it('creates, labels, patches, replaces, describes and deletes', async () => {
    await kubectl('create', 'namespace', 'shop');
    await kubectl(
      'create',
      'service',
      'externalname',
      'db',
      '--external-name=example.com',
      '-n',
      'shop',
    );
    await kubectl('label', 'svc', 'db', 'tier=back', '-n', 'shop');
    await kubectl(
      'patch',
      'svc',
      'db',
      '-n',
      'shop',
      '-p',
      '{"spec":{"externalName":"example.org"}}',
    );
    const listed = await kubectl('get', 'svc', '-l', 'tier=back', '-A', '-o', 'yaml');
    expect(listed).toContain('kind: Service');
    expect(listed).toContain('externalName: example.org');
    expect(await kubectl('describe', 'svc', 'db', '-n', 'shop')).toMatch(
      /External Name: +example.org/,
    );
    const path = await write(
      'db.yaml',
      await kubectl('get', 'svc', 'db', '-n', 'shop', '-o', 'yaml'),
    );
    expect(await kubectl('replace', '-f', path)).toBe('service/db replaced\n');
    await kubectl('delete', 'namespace', 'shop');
    expect(server.list('Service', 'shop')).toEqual([]);
    await expect(kubectl('get', 'ns', 'shop')).rejects.toThrow(/NotFound/);
  });

  it('writes a status alone, which ends the wait for a rollout', async () => {
    await kubectl('apply', '-f', await write('deployment.yaml', DEPLOYMENT));
    const status = { observedGeneration: 1, replicas: 2, updatedReplicas: 2, availableReplicas: 2 };
    const patch = JSON.stringify({ status, spec: { replicas: 9 } });
    const words = ['patch', 'deployment', 'web', '--type=merge', '-p', patch];
    await kubectl(...words, '--subresource=status');
    expect(server.get('Deployment', 'default', 'web')).toMatchObject({
      status,
      spec: { replicas: 2 },
    });
    expect(await kubectl('rollout', 'status', 'deployment/web', '--timeout=60s')).toBe(
      'deployment "web" successfully rolled out\n',
    );
    await kubectl('set', 'image', 'deployment/web', 'a=a:2');
    expect(server.get('Deployment', 'default', 'web')).toMatchObject({ status });
  });

  it('deletes with each cascade, and waits for the end', async () => {
    for (const cascade of ['background', 'foreground', 'orphan']) {
      await kubectl('create', 'configmap', 'cm');
      const { metadata } = server.get('ConfigMap', 'default', 'cm')!;
      const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'cm', uid: metadata.uid };
      await server.apply(configMap(cascade, {}, { ownerReferences: [owner] }));
      expect(await kubectl('delete', 'configmap', 'cm', `--cascade=${cascade}`)).toMatch(
        /^configmap "cm" deleted/,
      );
    }
    expect(server.list('ConfigMap').map(({ metadata }) => metadata.name)).toEqual(['orphan']);
  });

  it('says what exists already, and what to use instead of a server-side apply', async () => {
    const path = await write('web.yaml', web('[{port: 80}]'));
    await kubectl('create', '-f', path);
    await expect(kubectl('create', '-f', path)).rejects.toThrow(
      /\(AlreadyExists\).*services "web" already exists/,
    );
    await expect(kubectl('apply', '--server-side', '-f', path)).rejects.toThrow(
      /use `kubectl apply` without `--server-side`/,
    );
  });

  it('scales a deployment, if the number of pods is as expected', async () => {
    await kubectl('apply', '-f', await write('deployment.yaml', DEPLOYMENT));
    const out = await kubectl('scale', 'deployment', 'web', '--replicas=0');
    expect(out).toBe('deployment.apps/web scaled\n');
    expect(server.get('Deployment', 'default', 'web')?.spec.replicas).toBe(0);
    const words = ['scale', 'deployment/web', '--current-replicas=2', '--replicas=5'];
    await expect(kubectl(...words)).rejects.toThrow(/Expected replicas to be 2, was 0/);
    await kubectl('scale', 'deployment/web', '--current-replicas=0', '--replicas=3');
    expect(server.get('Deployment', 'default', 'web')?.spec.replicas).toBe(3);
  });

  it('may send objects in protobuf', async () => {
    await kubectl('create', 'configmap', 'cm', '--from-literal=a=1', '--from-literal=b=');
    expect(server.get('ConfigMap', 'default', 'cm')?.data).toEqual({ a: '1', b: '' });
    await kubectl('create', 'service', 'clusterip', 'named', '--tcp=80:http', '--tcp=81:8081');
    expect(server.get('Service', 'default', 'named')?.spec).toMatchObject({
      selector: { app: 'named' },
      ports: [
        { name: '80-http', port: 80, targetPort: 'http', protocol: 'TCP' },
        { name: '81-8081', port: 81, targetPort: 8081, protocol: 'TCP' },
      ],
    });
    await kubectl('create', 'service', 'clusterip', 'headless', '--clusterip=None');
    expect(server.get('Service', 'default', 'headless')?.spec.clusterIPs).toEqual(['None']);
  });

  it('deletes the objects of a file', async () => {
    const path = await write('gone.yaml', web('[{port: 80}]'));
    await kubectl('apply', '-f', path);
    expect(await kubectl('delete', '-f', path)).toMatch(/^service "web" deleted/);
    expect(server.get('Service', 'default', 'web')).toBeUndefined();
  });

  it('follows changes', async () => {
    const args = [`--server=${server.url}`, 'get', 'svc', '-w'];
    const child = spawn('kubectl', args, { env: environment() });
    onClose(() => child.kill());
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    await until('the watch', () => server.watchCount('services') === 1);
    await server.apply({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'late' },
      spec: { clusterIP: 'None' },
    });
    await until('the new service', () => /late +ClusterIP +None/.test(output));
  });
});
