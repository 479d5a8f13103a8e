import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Closable } from '@kube-dns/testkit';
import type { ContainerSpec } from '../fixtures/container.js';
import { CONTAINER_NAMES } from '../fixtures/manifest-pod.js';
import { openDescriptors } from '../fixtures/process-watch.js';
import { SteadyClient } from '../fixtures/steady-client.js';
import { troubleMs } from '../fixtures/tally.js';
import { EXTENDED_ERROR } from '@kube-dns/wire';
import type { Fault, FaultContext } from './fault.js';
import { EVERY_KIND, isRight, LATE_MS, ProcessTestbed, throughShell } from './process-testbed.js';
import { PAGE } from './page-signs.js';

/** For this long all is watched while a resource is exhausted. */
const WATCH_MS = 3_000;
/** `ulimit -n`: a process of these has 25 to 40 descriptors open by itself. */
const DESCRIPTORS = 100;
const TCP_CLIENTS = 300;
const IDLE_HTTP_CLIENTS = 256;
const IDLE_LEAD_MS = 500;
const PROBES = 12;
/** Fewer in flight in 4.5 s than `--dns-forward-max`, so that none is refused. */
const FLOOD_PER_SECOND = 250;
const FLOOD_NAMES = 10_000;
const FLOOD_MS = 6_000;
const FAILURES = 'dnsmasq_upstream_server_failures_total';

/** Everything goes on, with this done to the containers' streams or arguments. */
function unharmed(change: (spec: ContainerSpec) => ContainerSpec) {
  return async (context: FaultContext): Promise<number> => {
    const testbed = await ProcessTestbed.start(context, change);
    await testbed.settled();
    const startMs = performance.now();
    await delay(WATCH_MS);
    await testbed.well();
    await testbed.claimEnds({});
    const seen = await testbed.finish(startMs);
    testbed.claimAsEver(seen, EVERY_KIND);
    return troubleMs(seen, isRight, LATE_MS);
  };
}

/** Has dnsmasq write a line for each query, and all others say what they can. */
function talkative(spec: ContainerSpec): ContainerSpec {
  const more = spec.name === 'dnsmasq' ? ['--log-queries'] : ['--v=9'];
  return { ...spec, args: [...spec.args, ...more] };
}

/** A pipe that is full from the start; the program itself holds its other end, and reads nothing. */
const UNREAD_PIPE =
  'p=$(mktemp -u) && mkfifo "$p" && exec 3<>"$p" && rm "$p" && head -c 65536 /dev/zero >&3';

/** Open connections without queries. */
class IdleClients implements Closable {
  readonly #sockets: Socket[] = [];

  constructor(port: number, count: number) {
    for (let i = 0; i < count; i++) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      this.#sockets.push(socket);
    }
  }

  close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    return Promise.resolve();
  }
}

/** More TCP clients than a container has descriptors. */
async function useUpDescriptors(context: FaultContext): Promise<number> {
  const testbed = await ProcessTestbed.start(context, (spec) =>
    throughShell(spec, `ulimit -n ${DESCRIPTORS}`),
  );
  await testbed.settled();
  const startMs = performance.now();
  const { dns, kubedns } = testbed.ports;
  const clients = [dns, kubedns].map((port) =>
    context.owned.add(new IdleClients(port, TCP_CLIENTS)),
  );
  for (const name of ['dnsmasq', 'kubedns'] as const) {
    await testbed.waitFor(`client that ${name} refuses`, async () => {
      const labels = { event: 'refused' };
      return (await testbed.metrics(name)).sum(`${name}_tcp_connections_total`, labels) > 0;
    });
  }
  context.claim(await testbed.isReady(), '/readiness is not 200');
  context.claimQuiet(await testbed.isHealthy('dnsmasq'), '/healthcheck/dnsmasq is not 200');
  for (const client of clients) await client.close();
  await testbed.well();
  await testbed.claimEnds({});
  const seen = await testbed.finish(startMs);
  testbed.claimAsEver(seen, EVERY_KIND);
  return troubleMs(seen, isRight, LATE_MS);
}

/** More idle HTTP connections than a port has places for, and each probe of the kubelet again and again. */
async function idleHttpClients(context: FaultContext): Promise<number> {
  const testbed = await ProcessTestbed.start(context);
  await testbed.settled();
  const startMs = performance.now();
  const { readiness, kubednsMetrics, dnsmasqMetrics, sidecar } = testbed.ports;
  for (const port of [readiness, kubednsMetrics, dnsmasqMetrics, sidecar]) {
    context.owned.add(new IdleClients(port, IDLE_HTTP_CLIENTS));
  }
  await delay(IDLE_LEAD_MS);
  for (let i = 0; i < PROBES; i++) {
    context.claim(await testbed.isReady(), '/readiness is not 200');
    context.claimQuiet(await testbed.isHealthy('kubedns'), '/healthcheck/kubedns is not 200');
    context.claimQuiet(await testbed.isHealthy('dnsmasq'), '/healthcheck/dnsmasq is not 200');
    for (const name of CONTAINER_NAMES) await testbed.metrics(name);
  }
  await testbed.claimEnds({});
  const seen = await testbed.finish(startMs);
  testbed.claimAsEver(seen, EVERY_KIND);
  return troubleMs(seen, isRight, LATE_MS);
}

/** More questions that wait for an upstream than a container has descriptors. */
async function floodUpstreams(context: FaultContext): Promise<number> {
  const testbed = await ProcessTestbed.start(context, (spec) =>
    throughShell(spec, `ulimit -n ${DESCRIPTORS}`),
  );
  await testbed.settled();
  const startMs = performance.now();
  testbed.upstream.behavior = 'silent';
  const flood = context.owned.add(
    await SteadyClient.start({
      port: testbed.ports.dns,
      names: Array.from({ length: FLOOD_NAMES }, (_, i) => `flood-${i}.example`),
      ratePerSecond: FLOOD_PER_SECOND,
    }),
  );
  await delay(FLOOD_MS);
  await flood.close();
  const labels = { reason: 'timeout' };
  const failures = (await testbed.metrics('dnsmasq')).sum(FAILURES, labels);
  context.claim(failures > 0, `${FAILURES}{reason="timeout"} is ${failures}`);
  const open = openDescriptors(testbed.containers.dnsmasq.pid);
  context.claim(open < DESCRIPTORS, `dnsmasq has all of its ${open} descriptors open`);
  testbed.upstream.behavior = 'right';
  const backMs = performance.now();
  await testbed.rightSince('outside', backMs);
  await testbed.well();
  await testbed.claimEnds({});
  const seen = await testbed.finish(startMs);
  testbed.claimAsEver(seen, ['cached', 'cluster']);
  testbed.claimFailures(seen, ['outside'], ['SERVFAIL']);
  return troubleMs(
    seen.filter(({ sentMs }) => sentMs >= backMs),
    isRight,
    LATE_MS,
  );
}

/** Faults of the machine: full disks, few descriptors, idle connections. */
export const LIMIT_ROWS: readonly Fault[] = [
  {
    id: 'log-full',
    happens: 'stdout and stderr of all containers are on a disk that is full',
    clients: 'Right answers',
    duration: 'Never',
    limitMs: 0,
    metrics: 'As before; the lines are lost',
    isCommandOnly: true,
    run: unharmed((spec) => throughShell(talkative(spec), ':', '>/dev/full 2>&1')),
  },
  {
    id: 'log-unread',
    happens: 'No program reads the pipe to which stdout and stderr of all containers are connected',
    clients: 'Right answers',
    duration: 'Never',
    limitMs: 0,
    metrics: 'As before; beyond 256 KiB the lines are lost, and their number is logged later',
    run: unharmed((spec) => throughShell(talkative(spec), UNREAD_PIPE, '>&3 2>&3')),
  },
  {
    id: 'log-file-full',
    happens: 'The file of `--log-facility` is on a disk that is full',
    clients: 'Right answers',
    duration: 'Never',
    limitMs: 0,
    metrics: 'As before; the lines go to stderr, and the file is tried again every 5 s',
    isCommandOnly: true,
    run: unharmed((spec) =>
      spec.name === 'dnsmasq'
        ? { ...spec, args: [...spec.args, '--log-queries', '--log-facility=/dev/full'] }
        : spec,
    ),
  },
  {
    id: 'descriptors-tcp',
    happens: `300 TCP clients of dnsmasq and of kubedns, where a process may have ${DESCRIPTORS} descriptors`,
    clients: 'Right answers over UDP; TCP clients beyond the limit are disconnected',
    duration: 'Never',
    limitMs: 0,
    metrics:
      '`/metrics` answer; `dnsmasq_tcp_connections_total{event="refused"}` and `kubedns_tcp_connections_total{event="refused"}` grow: half of the descriptors are for TCP clients',
    run: useUpDescriptors,
  },
  {
    id: 'http-idle',
    happens: `${IDLE_HTTP_CLIENTS} idle connections to each HTTP port`,
    clients: 'Right answers; every probe of the kubelet succeeds',
    duration: 'Never',
    limitMs: 0,
    metrics: 'As before; the idlest connections are closed',
    isCommandOnly: true,
    run: idleHttpClients,
  },
  {
    id: 'descriptors-upstream',
    shows: PAGE.serversAway,
    happens: `250 new names a second for upstreams that are silent, where a process may have ${DESCRIPTORS} descriptors`,
    clients:
      'Names in the cache and in the cluster as before; SERVFAIL for all others: after 1.8 s at first, then immediately',
    duration: 'Until an upstream is back, and up to a second more',
    limitMs: 5_000,
    reasons: [EXTENDED_ERROR.NO_REACHABLE_AUTHORITY],
    metrics:
      '`/metrics` answer; `dnsmasq_upstream_server_failures_total{reason="timeout"}` grows: a quarter of the descriptors are for upstreams, beyond it questions share them',
    isCommandOnly: true,
    run: floodUpstreams,
  },
];
