import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createApiServer, type ApiServer } from '@kube-dns/apiserver';
import { needsPrograms, outputOf, runProgram, TemporaryFolder, unless } from '@kube-dns/testkit';
import { ClusterHistory } from './support/cluster-history.js';
import { editFile, withManifestsCopy } from './support/manifests-copy.js';
import { ROOT } from './support/root.js';
import { shellBlocks } from './support/shell-block.js';
import { Workloads } from './support/workloads.js';

const page = readFileSync(`${ROOT}docs/upgrade.md`, 'utf8');
const [, upgrade = [], helmUpgrade = []] = shellBlocks(page, 'Upgrade');
const [downgrade = [], helmDowngrade = []] = shellBlocks(page, 'Downgrade');
const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { version: string };
const OLD = '0.0.9';

let server: ApiServer;
let history: ClusterHistory;
let home: TemporaryFolder;
let workloads: Workloads;
let config: string;

beforeEach(async () => {
  server = await createApiServer();
  workloads = new Workloads(server);
  history = new ClusterHistory(server);
  home = new TemporaryFolder();
  config = join(home.path, 'config');
  const cluster = { server: await history.listen() };
  writeFileSync(
    config,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'test', cluster }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
      users: [{ name: 'test', user: {} }],
      'current-context': 'test',
    }),
  );
});
afterEach(async () => {
  await history.close();
  await server.close();
  await home.close();
});

/** Types a command of the page, with `folder` in place of the checkout; the controllers do their work then. */
async function type(command: string, folder: string, ...more: readonly string[]): Promise<string> {
  const [program = '', ...words] = command.split(' ');
  const inFolder = words.map((word) =>
    word.replace(/^(?=manifests\/|dist\/|values)/, `${folder}/`),
  );
  const said = await outputOf(program, [...inFolder, ...more], {
    HOME: home.path,
    KUBECONFIG: config,
    // Helm has its releases in Secrets unless it is told so; the API server of the tests has none.
    HELM_DRIVER: 'configmap',
  });
  history.record();
  await workloads.settle();
  return said;
}

const deployment = () => server.get('Deployment', 'kube-system', 'kube-dns')?.spec.template;
const daemonSet = () => server.get('DaemonSet', 'kube-system', 'node-local-dns')?.spec.template;
const applies = upgrade.filter((each) => each.startsWith('kubectl apply '));

unless(needsPrograms('kubectl'), describe)('kubectl rollout undo of docs/upgrade.md', () => {
  it('brings back the pods of the older version, images and arguments together', async () => {
    expect(applies).toHaveLength(2);
    expect(downgrade).toHaveLength(2);
    await withManifestsCopy(async (copy) => {
      const older = join(copy, '..');
      for (const name of ['kube-dns', 'node-cache']) {
        editFile(join(copy, name, 'kustomization.yaml'), [`newTag: ${version}`, `newTag: ${OLD}`]);
      }
      editFile(join(copy, 'kube-dns', 'deployment.yaml'), ['- --v=2', '- --v=3']);
      for (const command of applies) await type(command, older);
    });
    const before = [deployment(), daemonSet()];
    expect(JSON.stringify(before)).toContain(`localhost/kubedns:${OLD}`);
    for (const command of applies) await type(command, ROOT.replace(/\/$/, ''));
    const now = [deployment(), daemonSet()];
    expect(JSON.stringify(now)).not.toContain(OLD);
    for (const command of downgrade) await type(command, ROOT);
    expect([deployment(), daemonSet()]).toEqual(before);
    // And forth again: what was undone is the revision before.
    for (const command of downgrade) await type(command, ROOT);
    expect([deployment(), daemonSet()]).toEqual(now);
  });
});

unless(needsPrograms('helm'), describe)('helm of docs/upgrade.md', () => {
  const chart = async (folder: string) => {
    const args = [`${ROOT}packages/cli/chart.mjs`, join(folder, 'dist', 'chart')];
    expect((await runProgram(process.execPath, args)).end).toBe(0);
  };

  it('upgrades with the values of a file, and goes back to the older version', async () => {
    expect(helmUpgrade).toHaveLength(2);
    expect(helmDowngrade).toHaveLength(1);
    const folder = home.path;
    await chart(folder);
    const own = { clusterIP: '10.96.0.10', tag: OLD, snapshotSecret: false };
    writeFileSync(join(folder, 'values.yaml'), JSON.stringify(own));
    // The API server of the tests has no server-side apply.
    const plain = '--server-side=false';
    const install = helmUpgrade.at(-1)!.replace('upgrade ', 'upgrade --install ');
    await type(install, folder, plain);
    const before = deployment();
    expect(JSON.stringify(before)).toContain(`localhost/kubedns:${OLD}`);

    writeFileSync(join(folder, 'values.yaml'), JSON.stringify({ ...own, tag: version }));
    for (const command of helmUpgrade) {
      if (command.startsWith('helm')) await type(command, folder, plain);
      else expect(command).toBe('npm run chart');
    }
    expect(JSON.stringify(deployment())).toContain(`localhost/kubedns:${version}`);
    for (const command of helmDowngrade) await type(command, folder, plain);
    expect(deployment()).toEqual(before);
  });
});
