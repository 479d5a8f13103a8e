import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { endPrograms, TemporaryFolder } from '@kube-dns/testkit';
import { KubednsProcess } from './support/kubedns-process.js';

/** The discard port, on which no test listens. */
const PROXY = '127.0.0.1:9';

let folder: TemporaryFolder;
beforeEach(() => void (folder = new TemporaryFolder()));
afterEach(async () => {
  await endPrograms();
  await folder.close();
});

// The bundle loads the reader of YAML and the SOCKS client of client-node when they are called.
it('the program reads a kubeconfig and asks the API server through its SOCKS proxy', async () => {
  const config = folder.file(
    'config',
    `current-context: here
contexts: [{ name: here, context: { cluster: mine, user: me } }]
clusters: [{ name: mine, cluster: { server: 'https://192.0.2.1', proxy-url: 'socks5://${PROXY}' } }]
users: [{ name: me, user: {} }]
`,
  );
  const kubedns = new KubednsProcess([
    `--kubecfg-file=${config}`,
    ...['--dns-bind-address=127.0.0.1', '--dns-port=0', '--healthz-port=0'],
    '--nameservers=127.0.0.1:9',
  ]);
  await kubedns.waitForLine(new RegExp(`/services: connect ECONNREFUSED ${PROXY}`));
  expect(kubedns.fatalErrors).toEqual([]);
});
