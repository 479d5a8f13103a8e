import { formatHostPort } from '@kube-dns/base';
import { runProgram, VERSION } from '@kube-dns/daemon';
import { bindAddress, EVERY_ADDRESS } from '@kube-dns/wire';

import { FLAGS, readOptions } from './options.js';
import { startSidecar } from './sidecar.js';

const program = {
  name: 'sidecar',
  version: VERSION,
  summary: 'Probes the DNS servers of the pod and exports their health and statistics over HTTP.',
  flags: FLAGS,
};

runProgram(program, async ({ values, log, signals, facts, statusPages }) => {
  const options = readOptions(values);
  log.info(`version ${facts.version}`);
  const sidecar = await startSidecar(options, log, { facts, statusPages });
  signals.onTerminate(() => sidecar.close());
  for (const { label, server, name, type, intervalMs } of options.probes) {
    log.info(`probe ${label}: ${name} ${type} at ${formatHostPort(server)} every ${intervalMs} ms`);
  }
  log.info(
    `statistics of dnsmasq at ${formatHostPort(options.dnsmasq)} every ${options.pollIntervalMs} ms`,
  );
  const isEvery = bindAddress(options.httpHost) === EVERY_ADDRESS;
  const where = isEvery ? 'every address,' : options.httpHost;
  log.info(`serving HTTP on ${where} port ${sidecar.http.port}`);
});
