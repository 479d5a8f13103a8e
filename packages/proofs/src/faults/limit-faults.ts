import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { ask, type Closable } from '@kube-dns/testkit';
import { EXTENDED_ERROR } from '@kube-dns/wire';
import {
  CONTAINER_NAMES,
  type ContainerName,
  type ContainerSpec,
  type PodPorts,
} from '../fixtures/pod-containers.js';
import { DigReasons } from '../fixtures/witness.js';
import { openDescriptors } from '../fixtures/process-watch.js';
import { SteadyClient, troubleMs } from '../fixtures/steady-client.js';
import { type Fault, type FaultContext, PAGE } from './fault.js';
import {
  EVERY_KIND,
  isRight,
  LATE_MS,
  ProcessTestbed,
  QUESTIONS,
  RESTARTED,
} from './process-testbed.js';
import { serviceName } from './small-cluster.js';

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
    await testbed.eachRightSince(startMs);
    await testbed.claimEnds({});
    const seen = await testbed.finish(startMs);
    QUESTIONS.claimRight(context, seen, EVERY_KIND);
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

function withFewDescriptors(spec: ContainerSpec): ContainerSpec {
  return { ...spec, shell: `ulimit -n ${DESCRIPTORS}` };
}

/** More TCP clients than a container has descriptors. */
async function useUpDescriptors(context: FaultContext): Promise<number> {
  const testbed = await ProcessTestbed.start(context, withFewDescriptors);
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
  await testbed.eachRightSince(startMs);
  await testbed.claimEnds({});
  const seen = await testbed.finish(startMs);
  QUESTIONS.claimRight(context, seen, EVERY_KIND);
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
  QUESTIONS.claimRight(context, seen, EVERY_KIND);
  return troubleMs(seen, isRight, LATE_MS);
}

/** More questions that wait for an upstream than a container has descriptors. */
async function floodUpstreams(context: FaultContext): Promise<number> {
  const testbed = await ProcessTestbed.start(context, withFewDescriptors);
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
  QUESTIONS.claimRight(context, seen, ['cached', 'cluster']);
  QUESTIONS.claimFailures(context, seen, ['outside'], ['SERVFAIL']);
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
    run: unharmed((spec) => ({ ...talkative(spec), redirection: '>/dev/full 2>&1' })),
  },
  {
    id: 'log-unread',
    happens: 'No program reads the pipe to which stdout and stderr of all containers are connected',
    clients: 'Right answers',
    duration: 'Never',
    limitMs: 0,
    metrics: 'As before; beyond 256 KiB the lines are lost, and their number is logged later',
    run: unharmed((spec) => ({
      ...talkative(spec),
      shell: UNREAD_PIPE,
      redirection: '>&3 2>&3',
    })),
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
      '`/metrics` answer; `dnsmasq_tcp_connections_total{event="refused"}` and `kubedns_tcp_connections_total{event="refused"}` grow: three eighths of the descriptors are for TCP clients',
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

/** How long to wait for an answer before the question is sent again: no program may have listened. */
const ASK_MS = 5_000;

/** What a container listens on first, by TCP. */
function firstPort(name: ContainerName, { dns, kubedns, sidecar }: PodPorts): number {
  return { dnsmasq: dns, kubedns, sidecar }[name];
}

/** What dnsmasq returns for a question about the cluster: an RCODE, or `silence`. */
function answerText({ ports }: ProcessTestbed): Promise<string> {
  const answer = ask(ports.dns, serviceName(1), { limitMs: ASK_MS });
  return answer.then(
    ({ rcode }) => rcode,
    () => 'silence',
  );
}

interface TakenPort {
  readonly name: ContainerName;
  /** With which code it ends, and its last words. */
  readonly end: RegExp;
  readonly answer: 'silence' | 'SERVFAIL' | 'NOERROR';
}

/** A port is taken when its container starts; some time later it is free. */
function takenPort({ name, end, answer }: TakenPort) {
  return async (context: FaultContext): Promise<number> => {
    const holder: { server?: Server } = {};
    const testbed = await ProcessTestbed.start(
      context,
      (spec) => spec,
      async (ports) => {
        holder.server = createServer().listen(firstPort(name, ports), '127.0.0.1');
        await once(holder.server, 'listening');
      },
    );
    const container = testbed.containers[name];
    const { dns: port } = testbed.ports;
    const asked = { address: '127.0.0.1', port, names: [serviceName(1)] };
    // While the others start, all answers say that they do.
    if (answer !== 'NOERROR') context.owned.add(new DigReasons(asked, context.signs.reasons));
    await testbed.waitFor('end of a container', () => container.ends.length > 0);
    context.claim(end.test(container.ends[0]!), `${name} ended with ${container.ends[0]}`);
    await testbed.waitFor(
      `question with ${answer}`,
      async () => (await answerText(testbed)) === answer,
    );
    if (answer !== 'NOERROR') await context.signs.read();
    holder.server?.close();
    const freeMs = performance.now();
    await testbed.settled();
    const wellMs = performance.now() - freeMs;
    await testbed.claimEnds({ [name]: container.ends.length });
    QUESTIONS.claimRight(context, await testbed.finish(freeMs), EVERY_KIND);
    return wellMs;
  };
}

/** Ports that are in use when their container starts. */
export const PORT_ROWS: readonly Fault[] = [
  {
    id: 'port-taken-dnsmasq',
    shows: PAGE.probeOfDnsmasq,
    happens: 'The port of dnsmasq is taken when it starts',
    clients: 'Nothing from dnsmasq',
    duration: RESTARTED,
    limitMs: 30_000,
    metrics:
      'It ends with 2 and `dnsmasq: cannot listen on ADDRESS over TCP: address already in use`',
    isCommandOnly: true,
    run: takenPort({
      name: 'dnsmasq',
      end: /^2: .*dnsmasq: cannot listen on 127\.0\.0\.1:\d+ over TCP: address already in use$/,
      answer: 'silence',
    }),
  },
  {
    id: 'port-taken-kubedns',
    shows: PAGE.probeOfKubedns,
    happens: 'The port of kubedns is taken when it starts',
    clients: 'SERVFAIL for names of the cluster',
    duration: RESTARTED,
    limitMs: 30_000,
    reasons: [EXTENDED_ERROR.NETWORK_ERROR, EXTENDED_ERROR.NOT_READY],
    metrics:
      'It ends with 1 and `kubedns: cannot listen on ADDRESS over TCP: address already in use`',
    run: takenPort({
      name: 'kubedns',
      end: /^1: .*kubedns: cannot listen on 127\.0\.0\.1:\d+ over TCP: address already in use$/,
      answer: 'SERVFAIL',
    }),
  },
  {
    id: 'port-taken-sidecar',
    happens: 'The port of the sidecar is taken when it starts',
    clients: 'Right answers',
    duration: RESTARTED,
    limitMs: 30_000,
    metrics: 'It ends with 255 and `sidecar: …: cannot listen on ADDRESS: address already in use`',
    isCommandOnly: true,
    run: takenPort({
      name: 'sidecar',
      end: /^255: .*sidecar: .*cannot listen on 127\.0\.0\.1:\d+: address already in use$/,
      answer: 'NOERROR',
    }),
  },
];
