import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { TemporaryFolder } from '@kube-dns/testkit';
import { startKubedns } from '../fixtures/pod-containers.js';
import { awaitRestart, claimBack, claimServing } from './api-outage.js';
import {
  awaitChanges,
  awaitWatches,
  CHANGED,
  claimRight,
  NEW_ADDRESS,
  startClient,
  startCluster,
} from './api-testbed.js';
import type { FaultContext } from './fault.js';
import { authorityCertificate, SecureApi } from './secure-api.js';
import { deleteService, moveService } from './small-cluster.js';

/**
 * Gives the program its own folder in the place of a pod's service account. The mount is
 * private to the program and ends with it.
 */
const AS_POD = [
  'unshare',
  '--mount',
  '--propagation=private',
  'sh',
  '-c',
  'mount -t tmpfs none /var/run && mkdir -p /var/run/secrets/kubernetes.io && ' +
    'ln -s "$0" /var/run/secrets/kubernetes.io/serviceaccount && exec "$@"',
];
const OUTAGE_MS = 1_500;

/** The files of a service account. */
class ServiceAccount {
  readonly #folder: string;

  constructor(context: FaultContext) {
    this.#folder = context.owned.add(new TemporaryFolder()).path;
    this.write('ca.crt', authorityCertificate('one'));
    this.write('token', 'first');
    this.write('namespace', 'kube-system');
  }

  get path(): string {
    return this.#folder;
  }

  write(file: 'ca.crt' | 'token' | 'namespace', text: string): void {
    writeFileSync(join(this.#folder, file), text);
  }
}

interface Rotation {
  readonly begin: (secure: SecureApi) => void;
  /** What kubelet does some time later. */
  readonly renew: (account: ServiceAccount) => void;
}

/**
 * The server changes its token or CA, and the files of the service account follow later. Resolves
 * to the ms for which clients saw the old state after the files were right.
 */
function runRotation({ begin, renew }: Rotation): (context: FaultContext) => Promise<number> {
  return async (context) => {
    const api = await startCluster(context);
    const secure = context.owned.add(await SecureApi.start(api.port, 'first'));
    const account = new ServiceAccount(context);
    const env = {
      KUBERNETES_SERVICE_HOST: '127.0.0.1',
      KUBERNETES_SERVICE_PORT: String(secure.port),
    };
    const through = [...AS_POD, account.path];
    const kubedns = context.owned.add(await startKubedns({ ...context, flags: [], through, env }));
    await awaitWatches(kubedns, api);
    const client = await startClient(context, kubedns);
    begin(secure);
    await moveService(api, 1, NEW_ADDRESS);
    deleteService(api, 2);
    await delay(OUTAGE_MS);
    await awaitRestart({ kubedns }, ['error']);
    const page = await claimServing(context, { kubedns }, OUTAGE_MS * 0.9);
    const labels = { resource: 'services', reason: 'error' };
    const errors = page.sum('kubedns_watch_restarts_total', labels);
    context.claim(errors > 0, `kubedns_watch_restarts_total of error is ${errors} meanwhile`);
    await context.signs.seen();
    const renewedMs = performance.now();
    renew(account);
    const shownMs = await awaitChanges(client);
    await claimBack(context, { kubedns, api }, { endMs: renewedMs, isRelisted: false });
    await claimRight(context, client, { after: CHANGED });
    return shownMs - renewedMs;
  };
}

/** The token is refused until its file has the new one. */
export const expireToken = runRotation({
  begin: (secure) => secure.expect('second'),
  renew: (account) => account.write('token', 'second'),
});

/** The server's certificate is from an authority that is not trusted until its file has the new one. */
export const changeAuthority = runRotation({
  begin: (secure) => secure.show('two'),
  renew: (account) => account.write('ca.crt', authorityCertificate('two')),
});
