import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { ROOT } from './support/root.js';

const PACKAGES = [
  ...['base', 'wire', 'transport', 'daemon', 'push', 'resolver', 'telemetry'],
  ...['kubedns', 'dnsmasq', 'node-cache', 'sidecar'],
];

/**
 * Who reads the time of day, which may be set, and what for. All else that waits, expires or counts time has
 * `performance.now()`, which never falls; rows `clock-forward` and `clock-back` of the faults set the clock of a pod.
 */
const READERS: Readonly<Record<string, string>> = {
  'base/src/volume-files.ts': 'the name of a folder',
  'daemon/src/config-directory.ts': 'shown: when a configuration was refused',
  'daemon/src/log.ts': 'shown: the time of a line',
  'daemon/src/metrics/process-families.ts': 'shown: when the process started',
  'daemon/src/snapshot.ts': 'how old a file is, through a restart',
  'daemon/src/status/status-report.ts': 'shown',
  'dnsmasq/src/answer/statistics-dump.ts': 'shown',
  'dnsmasq/src/metrics.ts': 'shown: when a configuration was applied',
  'dnsmasq/src/notify/notify-answerer.ts': 'the time of a TSIG (RFC 8945 section 5.2.3)',
  'kubedns/src/answer/imported-names.ts':
    'which part of very many endpoints is answered, the same for both families',
  'kubedns/src/config/configuration.ts': 'shown: when a configuration was applied',
  'kubedns/src/outside/host-names.ts': 'shown: since when an object is there',
  'kubedns/src/server.ts': 'shown: how long ago endpoints were changed, by their own time',
  'kubedns/src/status/kubedns-status.ts': 'shown: how old the serial is',
  'kubedns/src/transfer/transfers.ts': 'the time of a TSIG (RFC 8945 section 5.2.3)',
  'kubedns/src/watch/api-client.ts': 'a date of Retry-After, with a bound',
  'kubedns/src/watch/cluster-watch.ts': 'shown: how old a snapshot is',
  'kubedns/src/watch/replicas.ts': 'the time of a request to another replica, with a bound',
  'kubedns/src/watch/snapshots.ts': 'when a snapshot was written',
  'kubedns/src/zone/soa-record.ts': 'the serial of the SOA, which never falls',
  'node-cache/src/answer/cluster-snapshot.ts': 'when answers were stored, through a restart',
  'node-cache/src/answer/hosts.ts': 'shown: when the file was read',
  'node-cache/src/config/corefile-source.ts': 'shown: when a Corefile was applied or refused',
  'push/src/notify-sender.ts': 'the time of a TSIG (RFC 8945 section 5.2.3)',
  'sidecar/src/sidecar.ts': 'shown',
  'telemetry/src/dnstap.ts': 'the times of messages',
  'telemetry/src/lines.ts': 'shown: the time of a line',
  'telemetry/src/query-log.ts': 'shown: the time of a line',
  'telemetry/src/query-pages.ts': 'shown: the time of a line',
  'transport/src/forward/sockets.ts': 'the end of certificates',
  'transport/src/server-cookies.ts': 'the time in a cookie (RFC 9018 section 4.3)',
};

function sourcesOf(name: string): string[] {
  const files = readdirSync(join(ROOT, 'packages', name, 'src'), { recursive: true }) as string[];
  return files
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map((file) => join(name, 'src', file));
}

it('clock steps: the time of day is shown, and is in what the outside dates; nothing waits or expires by it', () => {
  const readers = PACKAGES.flatMap(sourcesOf).filter((file) =>
    /\bDate\.now\b|\bnew Date\b/.test(readFileSync(join(ROOT, 'packages', file), 'utf8')),
  );
  expect(readers.sort()).toEqual(Object.keys(READERS).sort());
});
