import { execFile, execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { errorText } from '@kube-dns/base';
import {
  builtProgram,
  type BundleStart,
  type Closable,
  Dnsmasq,
  Dockerfile,
  httpStatus,
  imageStart,
  Kubedns,
  memoryBytes,
  needsNamespaces,
  needsPrograms,
  Owned,
  PodmanStore,
  type RunningProgram,
  Sidecar,
  TemporaryFolder,
} from '@kube-dns/testkit';
import { ControlGroup, type GroupMemory } from '../control-group.js';
import { LoadTestbed, type Programs } from '../load/testbed.js';
import type { Subject } from '../load/scores.js';
import { namesBelow } from '../queries.js';
import { followingKubedns, stockArguments } from '../servers/peers.js';
import { serviceCluster, serviceQuestions } from './workloads.js';
import type { Part, PartContext } from './workload.js';

/** The containers of the pod, in the order in which they are started. */
export const CONTAINERS = ['kubedns', 'dnsmasq', 'sidecar'] as const;
type ContainerName = (typeof CONTAINERS)[number];

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const BASE = 'localhost/kube-dns/base:bench';

/** Why podman cannot run images that are built here; undefined where it can. */
function podmanSkipReason(): string | undefined {
  return needsPrograms('podman', 'apt-get', 'dpkg-deb') ?? needsNamespaces();
}

/** A Dockerfile of the stage that becomes the image, with what is in the folder of that name as `/app`. */
export function lastStage(name: ContainerName): string {
  const lines = new Dockerfile(name).run.map(({ keyword, value }) =>
    keyword === 'COPY' ? `COPY ${name} /app` : `${keyword} ${value}`,
  );
  return ['ARG BASE_IMAGE', ...lines, ''].join('\n');
}

/** The images of the pod, of the bundles that are measured, in a store of podman that is only the bench's. */
class PodmanImages implements Closable {
  readonly #store = new PodmanStore();

  /** Builds them on one base, so that they share the layer with Node. Rejects where that cannot be. */
  async build({ kubedns, dnsmasq }: Programs): Promise<void> {
    const bundles = { kubedns, dnsmasq, sidecar: builtProgram('sidecar') };
    const base = [join(ROOT, 'images/local-base.mjs'), '--engine=podman', BASE];
    await this.#run(process.execPath, ...base);
    const context = join(this.#store.folder, 'context');
    mkdirSync(context);
    await this.#run(process.execPath, join(ROOT, 'images/stage.mjs'), context, ...CONTAINERS);
    for (const name of CONTAINERS) {
      copyFileSync(bundles[name], join(context, name, `${name}.cjs`));
      const file = join(context, `${name}.Dockerfile`);
      writeFileSync(file, lastStage(name));
      const what = ['-f', file, '-t', this.imageOf(name), `--build-arg=BASE_IMAGE=${BASE}`];
      await this.#run('podman', 'build', ...what, context);
    }
  }

  imageOf(name: ContainerName): string {
    return `localhost/kube-dns/${name}:bench`;
  }

  /** The words of a podman that has these images. */
  command(...words: readonly string[]): readonly string[] {
    const variables = Object.entries(this.#store.variables).map(
      ([name, value]) => `${name}=${value}`,
    );
    return ['env', ...variables, 'podman', ...words];
  }

  /** The output of this podman. */
  output(...words: readonly string[]): Promise<string> {
    return this.#run('podman', ...words);
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  async #run(program: string, ...args: readonly string[]): Promise<string> {
    const env = { ...process.env, ...this.#store.variables };
    const { stdout } = await run(program, args, { cwd: ROOT, env, maxBuffer: 2 ** 26 });
    return stdout.trim();
  }
}

/**
 * Copies of the Node binary that no other process has mapped and that are not in the page cache: a control
 * group that starts one pays for its pages, as the first container on a node does.
 */
class OwnNode implements Closable {
  readonly #folder = new TemporaryFolder();
  readonly #node: string;

  constructor(node: string) {
    this.#node = node;
  }

  /** The path of a copy on disk; `name` is that of the file. */
  cold(name: string): string {
    const path = join(this.#folder.path, name);
    copyFileSync(this.#node, path);
    // Only pages that are written back can be dropped; GNU dd drops those of the whole file (posix_fadvise).
    execFileSync('sync', [path]);
    execFileSync('dd', [`if=${path}`, 'iflag=nocache', 'count=0', 'status=none']);
    return path;
  }

  close(): Promise<void> {
    return this.#folder.close();
  }
}

/** What gives containers their control groups. */
interface ContainerRuntime {
  /** How a container is to be started; what it needs is added to `owned`. Rejects where there can be none. */
  place(name: ContainerName, owned: Owned): BundleStart | Promise<BundleStart>;
  /** The group of a container that runs. */
  groupOf(name: ContainerName): ControlGroup | Promise<ControlGroup>;
}

/** Each container is a process of this machine in a group of its own, from its first instruction on. */
class GroupRuntime implements ContainerRuntime {
  readonly #programs: Programs;
  readonly #nodeOf: (name: ContainerName) => string;
  readonly #groups = new Map<ContainerName, ControlGroup>();

  /** `nodeOf` is the Node of each. */
  constructor(programs: Programs, nodeOf: (name: ContainerName) => string = () => programs.node) {
    this.#programs = programs;
    this.#nodeOf = nodeOf;
  }

  place(name: ContainerName, owned: Owned): BundleStart {
    const group = ControlGroup.create(`bench-memory-${name}`, 'memory');
    if (typeof group === 'string') throw new Error(group);
    this.#groups.set(name, owned.add(group));
    const { kubedns, dnsmasq } = this.#programs;
    const program = { kubedns, dnsmasq, sidecar: builtProgram('sidecar') }[name];
    const { nodeFlags } = imageStart(name);
    return { through: group.entrance, node: this.#nodeOf(name), nodeFlags, program };
  }

  groupOf(name: ContainerName): ControlGroup {
    return this.#groups.get(name)!;
  }
}

/** Each container is one of podman, of images with one Node, and with the limits of the manifest. */
class PodmanRuntime implements ContainerRuntime {
  readonly #images: PodmanImages;

  constructor(images: PodmanImages) {
    this.#images = images;
  }

  async place(name: ContainerName, owned: Owned): Promise<BundleStart> {
    const ended: Closable = {
      close: () => this.#images.output('rm', '--force', '--ignore', '--time', '0', name),
    };
    owned.add(ended);
    const hardened = ['--read-only', '--cap-drop=all', '--security-opt=no-new-privileges'];
    const place = ['--rm', `--name=${name}`, '--network=host', ...hardened];
    const words = ['run', ...place, ...(await limitsOf(name)), '--entrypoint='];
    const { nodeFlags } = imageStart(name);
    return {
      through: this.#images.command(...words, this.#images.imageOf(name)),
      node: 'node',
      nodeFlags,
      program: `/app/${name}.cjs`,
    };
  }

  async groupOf(name: ContainerName): Promise<ControlGroup> {
    const pid = await this.#images.output('inspect', '--format', '{{.State.Pid}}', name);
    return ControlGroup.of(Number(pid), 'memory');
  }
}

/** The limit of memory and the variables for Node that a container has in manifests/kube-dns, for podman. */
export async function limitsOf(name: ContainerName): Promise<readonly string[]> {
  // Only here: it takes its time to load.
  const { containerOf, findObject, MANIFESTS, readObjects } =
    await import('@kube-dns/testkit/manifests');
  const text = readFileSync(`${MANIFESTS}/kube-dns/deployment.yaml`, 'utf8');
  const deployment = findObject(readObjects(text), 'Deployment', 'kube-dns');
  const { env = [], resources } = containerOf(deployment, name);
  const options = env.find((variable) => variable.name === 'NODE_OPTIONS')?.value;
  return [
    `--memory=${memoryBytes(resources?.limits?.memory)}`,
    ...(options === undefined ? [] : [`--env=NODE_OPTIONS=${options}`]),
  ];
}

/** What is around the pod. */
interface PodSurroundings {
  readonly apiUrl: string;
  /** Of the name server for names of the world. */
  readonly upstreamPort: number;
}

const READY_LIMIT_MS = 120_000;
const HTTP_LIMIT_MS = 10_000;
const CACHE_SIZE = '--cache-size=10000';
const PROBED = 'kubernetes.default.svc.cluster.local,5,SRV';

/** The three containers of the pod, each in a control group of its own, with the flags and variables of its image. */
class MeasuredPod implements Closable {
  readonly kubedns: Subject;
  readonly dnsmasq: Subject;
  readonly #sidecarPort: number;
  readonly #groups: ReadonlyMap<ContainerName, ControlGroup>;
  readonly #owned: Owned;

  private constructor(
    owned: Owned,
    groups: ReadonlyMap<ContainerName, ControlGroup>,
    servers: { readonly kubedns: Subject; readonly dnsmasq: Subject; readonly sidecarPort: number },
  ) {
    this.#owned = owned;
    this.#groups = groups;
    this.kubedns = servers.kubedns;
    this.dnsmasq = servers.dnsmasq;
    this.#sidecarPort = servers.sidecarPort;
  }

  /** Starts one after the other, and waits until all are ready. */
  static async start(
    outer: Owned,
    around: PodSurroundings,
    runtime: ContainerRuntime,
  ): Promise<MeasuredPod> {
    const owned = outer.add(new Owned());
    const groups = new Map<ContainerName, ControlGroup>();

    const { flags } = followingKubedns(around.apiUrl, []);
    const kubedns = owned.add(
      await Kubedns.start({ flags, ...(await runtime.place('kubedns', owned)) }),
    );
    await kubedns.ready(READY_LIMIT_MS);

    const servers = [
      ...stockArguments(kubedns.ports.dns),
      `--server=127.0.0.1#${around.upstreamPort}`,
    ];
    const dnsmasq = owned.add(
      await Dnsmasq.start({
        ...(await runtime.place('dnsmasq', owned)),
        args: [...servers, CACHE_SIZE, '--dns-forward-max=1500'],
      }),
    );
    await dnsmasq.ready();
    await dnsmasq.subscribed();

    const sidecar = owned.add(
      await Sidecar.start({
        ...(await runtime.place('sidecar', owned)),
        dnsmasqPort: dnsmasq.ports.dns,
        probes: Object.entries({ kubedns, dnsmasq }).map(
          ([name, { ports }]) => `${name},127.0.0.1:${ports.dns},${PROBED}`,
        ),
      }),
    );
    await sidecar.ready();
    for (const name of CONTAINERS) groups.set(name, await runtime.groupOf(name));
    return new MeasuredPod(owned, groups, {
      kubedns: subjectOf('our kubedns', kubedns.server, kubedns.ports.dns),
      dnsmasq: subjectOf('our dnsmasq', dnsmasq.server, dnsmasq.ports.dns),
      sidecarPort: sidecar.port,
    });
  }

  memory(): ReadonlyMap<ContainerName, GroupMemory> {
    return new Map([...this.#groups].map(([name, group]) => [name, group.memory()]));
  }

  /** Reads the metrics of the sidecar this often, one after the other. */
  async scrape(count: number): Promise<void> {
    for (let i = 0; i < count; i++) await httpStatus(this.#sidecarPort, '/metrics', HTTP_LIMIT_MS);
  }

  close(): Promise<void> {
    return this.#owned.close();
  }
}

function subjectOf(name: string, server: RunningProgram, port: number): Subject {
  return { name, port, pid: server.pid, server, isOneProcess: true, check: () => server.check() };
}

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
    return groups(`its images cannot be built: ${errorText(error).trim().split('\n').at(-1)}`);
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
