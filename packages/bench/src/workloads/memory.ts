import { setTimeout as delay } from 'node:timers/promises';
import { messageOf, Owned } from '@kube-dns/testkit';
import { ControlGroup, type GroupMemory } from '../control-group/control-group.js';
import { LoadTestbed } from '../dnsmasq-load/load-testbed.js';
import { CONTAINERS, type ContainerName } from '../memory/container-name.js';
import { type ContainerRuntime, GroupRuntime, PodmanRuntime } from '../memory/container-runtime.js';
import { MeasuredPod } from '../memory/measured-pod.js';
import { OwnNode } from '../memory/own-node.js';
import { PodmanImages, podmanSkipReason } from '../memory/podman-images.js';
import { namesBelow } from '../queries/question-file.js';
import type { Part, PartContext } from './part.js';
import { serviceCluster, serviceQuestions } from './services.js';

const MIB = 2 ** 20;
/** Until it is idle, but not longer than a run of a load. */
const SETTLE_MS = 3_000;
const CACHED_NAMES = 10_000;
const SERVICE_QUESTIONS = 10_000;
const SCRAPES = 200;
const FILL_SECONDS = 60;
const OUTSTANDING = 100;

/** Anonymous memory, in MiB, with 2,000 services, 10,000 cached names and 200 scrapes; the project's own. */
const BARS: Readonly<
  Record<ContainerName | 'pod', { readonly idle: number; readonly used: number }>
> = {
  kubedns: { idle: 22, used: 25 },
  dnsmasq: { idle: 13.5, used: 22 },
  sidecar: { idle: 12.5, used: 15 },
  pod: { idle: 48, used: 62 },
};
/** What else may be charged to a container whose Node another one has paid for, in MiB. */
const BESIDE_MIB = 12;

function addMemory(
  { series }: PartContext,
  when: 'idle' | 'used' | 'idle again',
  memories: ReadonlyMap<ContainerName, GroupMemory>,
): void {
  const all = [...memories.values()];
  const sum = (field: keyof GroupMemory) => all.reduce((total, each) => total + each[field], 0);
  const pod = { anonymous: sum('anonymous'), current: sum('current') };
  const rows = [
    ...[...memories].map(([name, memory]) => ({ name, ...memory })),
    { name: 'pod' as const, ...pod },
  ];
  for (const { name, anonymous, current } of rows) {
    const kind = { unit: 'MiB', digits: 1 };
    const bar = when === 'idle again' ? {} : { bar: { atMost: BARS[name][when] } };
    series.add(`${name}, ${when}: anonymous`, anonymous / MIB, { ...kind, ...bar });
    const beside = { atMost: name === 'pod' ? BESIDE_MIB * CONTAINERS.length : BESIDE_MIB };
    series.add(`${name}, ${when}: charged beside it`, (current - anonymous) / MIB, {
      ...kind,
      ...(when !== 'idle again' && { bar: beside }),
    });
  }
}

async function measureOnce(context: PartContext, runtime: ContainerRuntime): Promise<void> {
  const { names, owned, programs, seconds, series } = context;
  const settle = () => delay(Math.min(SETTLE_MS, seconds * 1_000));
  const own = owned.add(new Owned());
  const testbed = new LoadTestbed({ programs, cores: undefined, owned: own });
  const { port: upstreamPort } = await testbed.servers.nameServer();
  const cluster = await serviceCluster(testbed.servers, { names });
  const around = { apiUrl: cluster.apiUrl, upstreamPort };

  const pod = await MeasuredPod.start(own, around, runtime);
  await settle();
  addMemory(context, 'idle', pod.memory());
  const ask = { seconds: FILL_SECONDS, outstanding: OUTSTANDING };
  const services = testbed.questionFile(serviceQuestions(cluster.plan));
  const passes = Math.ceil(SERVICE_QUESTIONS / names);
  await testbed.dnsperf(pod.kubedns, { ...ask, file: services, passes });
  const world = testbed.questionFile(namesBelow('example', CACHED_NAMES));
  await testbed.dnsperf(pod.dnsmasq, { ...ask, file: world, passes: 1 });
  await pod.scrape(SCRAPES);
  addMemory(context, 'used', pod.memory());
  if (context.idleSeconds > 0) {
    await delay(context.idleSeconds * 1_000);
    addMemory(context, 'idle again', pod.memory());
  }
  await pod.close();

  const node = own.add(new OwnNode(programs.node));
  const ownNodes = new GroupRuntime(programs, (name) => node.cold(name));
  const cold = await MeasuredPod.start(own, around, ownNodes);
  await settle();
  for (const [name, { peak, current }] of cold.memory()) {
    const kind = { unit: 'MiB', digits: 1 };
    series.add(`${name}, cold start: peak`, peak / MIB, kind);
    series.add(`${name}, cold start: charged after it`, current / MIB, kind);
  }
  await own.close();
}

/** Podman where it is; otherwise control groups, and a note says why. */
async function chooseRuntime({ owned, programs, progress, note }: PartContext) {
  const skipReason = podmanSkipReason();
  const groups = (reason: string) => {
    note(`idle and used in a control group for each container and not under podman: ${reason}`);
    return new GroupRuntime(programs);
  };
  if (skipReason !== undefined) return groups(`it ${skipReason}`);
  progress('building the images: ten seconds on an idle machine, half a minute on a busy one');
  const images = owned.add(new PodmanImages());
  try {
    await images.build(programs);
  } catch (error) {
    return groups(`its images cannot be built: ${messageOf(error).trim().split('\n').at(-1)}`);
  }
  note(
    'idle and used under podman, with the limits of manifests/kube-dns, on one layer with Node.',
  );
  return new PodmanRuntime(images);
}

async function measure(context: PartContext): Promise<void> {
  const { runs, progress, note } = context;
  const tried = ControlGroup.create('bench-memory', 'memory');
  if (typeof tried === 'string') {
    note(`the memory of no control group was measured: ${tried}`);
    return;
  }
  await tried.close();
  const runtime = await chooseRuntime(context);
  for (let run = 1; run <= runs; run++) {
    progress(`run ${run} of ${runs}`);
    await measureOnce(context, runtime);
  }
}

/** What a node pays for the pod. */
export const MEMORY: Part = {
  name: 'memory',
  summary: 'the memory of the three containers: idle, used, and a cold start',
  measure,
};
