import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  anonymousBytes,
  ask,
  builtProgram,
  cpuUsage,
  Dockerfile,
  freePort,
  type ImageName,
  IMAGES,
  isOk,
  MeasureError,
  monotonicMs,
  type Owned,
  Remote,
  RunningProgram,
  TemporaryFolder,
} from '@kube-dns/testkit';
import type { BenchClusterMethods } from '../cluster/bench-cluster.js';
import { ClusterPlan } from '../cluster/cluster-plan.js';
import type { Measured } from './measured.js';

const MIB = 2 ** 20;
const CPU_MS = 400;
const QUESTIONS = 50;
const START_LIMIT_MS = 30_000;
const ANSWER_LIMIT_MS = 5_000;
const STEP_MS = 2;
const SIZE = { services: 10, slices: 10, endpointsPerSlice: 2, headless: 0 };
const KNOWN = 'a.test';

/** How a program is started and asked. */
interface Subject {
  /** The most anonymous memory when idle. */
  readonly atMostMib: number;
  readonly args: readonly string[];
  /** Whether it has the right answer. */
  readonly ask: () => Promise<boolean>;
}

async function hasAddress(port: number, name: string): Promise<boolean> {
  try {
    return (await ask(port, name, { limitMs: ANSWER_LIMIT_MS })).answers.length > 0;
  } catch {
    // Nothing listens there yet.
    return false;
  }
}

async function subjectOf(image: ImageName, owned: Owned): Promise<Subject> {
  const [port, otherPort] = [await freePort(), await freePort()];
  const isKnown = () => hasAddress(port, KNOWN);
  switch (image) {
    case 'kubedns': {
      const entry = new URL('../cluster/bench-cluster.js#BenchCluster', import.meta.url);
      const nodeFlags = ['--expose-gc'];
      const api = owned.add(
        new Remote<BenchClusterMethods>('the API server', entry, { nodeFlags }),
      );
      const { url } = await api.call('start', SIZE);
      const args = [
        ...[`--kube-master-url=${url}`, '--dns-bind-address=127.0.0.1', `--dns-port=${port}`],
        ...[`--healthz-port=${otherPort}`, '--nameservers=127.0.0.1:9'],
      ];
      const name = new ClusterPlan(SIZE).dnsName(0);
      return { atMostMib: 26, args, ask: () => hasAddress(port, name) };
    }
    case 'dnsmasq': {
      const args = [
        ...['--', `--port=${port}`, '--listen-address=127.0.0.1', '--bind-interfaces'],
        ...['--no-resolv', '--cache-size=1000', `--address=/${KNOWN}/192.0.2.1`],
      ];
      return { atMostMib: 18, args, ask: isKnown };
    }
    case 'sidecar': {
      const args = [
        ...['--prometheus-addr=127.0.0.1', `--prometheus-port=${port}`],
        ...[`--dnsmasq-port=${otherPort}`, `--probe=a,127.0.0.1:${otherPort},${KNOWN},5,A`],
      ];
      return { atMostMib: 14, args, ask: () => isOk(port, '/metrics', ANSWER_LIMIT_MS) };
    }
    case 'node-cache': {
      const folder = owned.add(new TemporaryFolder());
      const plugins = `bind 127.0.0.1\nhosts {\n192.0.2.1 ${KNOWN}\n}\ncache 30`;
      const template = `.:${port} {\n${plugins}\nforward . 127.0.0.1:9\n}\n`;
      const args = [
        ...['-localip=127.0.0.1', '-setupinterface=false', '-setupiptables=false'],
        `-basecorefile=${folder.file('Corefile.base', template)}`,
        `-conf=${join(folder.path, 'Corefile')}`,
        ...[`-metrics-listen-address=127.0.0.1:${otherPort}`, '-kubednscm=/nowhere'],
      ];
      return { atMostMib: 26, args, ask: isKnown };
    }
  }
}

async function measureProgram(
  image: ImageName,
  node: string,
  owned: Owned,
): Promise<readonly Measured[]> {
  const subject = await subjectOf(image, owned);
  const { command, environment } = new Dockerfile(image);
  const words = [...command.slice(1, -1), builtProgram(image), ...subject.args];
  const how = { cwd: '/', env: environment, hasOnlyEnv: true };
  const program = owned.add(new RunningProgram(image, node, words, how));
  while (!(await subject.ask())) {
    program.check();
    if (monotonicMs() - program.startedMs > START_LIMIT_MS) {
      throw new MeasureError(`${image} has no answer:\n${program.lastLines}`);
    }
    await delay(STEP_MS);
  }
  const { userMs, systemMs } = cpuUsage(program.pid);
  for (let i = 0; i < QUESTIONS; i++) {
    if (!(await subject.ask())) throw new MeasureError(`${image} has no answer any more`);
  }
  const memory = anonymousBytes(program.pid) / MIB;
  await program.close();
  return [
    {
      name: `${image}: until its first answer`,
      value: userMs + systemMs,
      unit: 'ms CPU',
      atMost: CPU_MS,
    },
    {
      name: `${image}: anonymous memory after ${QUESTIONS} questions`,
      value: memory,
      unit: 'MiB',
      atMost: subject.atMostMib,
    },
  ];
}

/** CPU until the first answer and idle memory of each bundle, with the flags and variables of its image. */
export async function measurePrograms(node: string, owned: Owned): Promise<readonly Measured[]> {
  const all: Measured[] = [];
  for (const image of IMAGES) all.push(...(await measureProgram(image, node, owned)));
  return all;
}
