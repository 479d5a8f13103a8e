import { isAbsolute, join, relative } from 'node:path';
import {
  type Clock,
  MAX_PORT,
  numberOption,
  type Options,
  type OptionValues,
  optional,
  repeatable,
  switchOption,
  systemClock,
  UsageError,
} from '@kube-dns/base';
import { flagRows, helpFlag, parseCommand, type CommandContext } from '../command.js';
import { ConfigMapFollower, Volumes } from './volumes.js';
import { LogOutput, wantsColours } from './log.js';
import { readPod, type PodSpec } from './manifest.js';
import { planPod, type ContainerPlan } from './plan.js';
import { Pod } from './pod.js';
import { checkPorts } from './ports.js';
import { localApiUrl, readyMessage } from './ready-message.js';
import { offsetPorts, useRealCluster, withNodeCache } from './variants.js';

/** The flags, in the order of the usage. */
export const UP_FLAGS = {
  manifest: file(
    'a Pod or Deployment in YAML; unless given, manifests/local/pod.yaml beside this program',
  ),
  kubeconfig: file('use the cluster of this kubeconfig instead of the embedded API server'),
  'node-cache': switchOption(
    'put a node-cache in front of the pod, without changing the network of this machine',
  ),
  'port-offset': numberOption(
    0,
    'add N to all ports of the pod, such as 1000, where its own are in use',
    { max: MAX_PORT },
  ),
  only: repeatable(
    'CONTAINER',
    'run only this container of the pod; may be repeated',
    (text) => text,
  ),
  help: helpFlag(),
} satisfies Options;

type UpOptions = OptionValues<typeof UP_FLAGS>;

function file(help: string) {
  return { ...optional('FILE', help), needs: 'a file' };
}

const UP_USAGE = `Usage: kube-dns up [flags]

Runs the pod of a manifest on this machine as a kubelet would: the containers' commands as
processes, with their probes, restarts and one common log. Needs no root and no container engine.

Flags:
${flagRows(UP_FLAGS)}

Ctrl-C stops the pod gracefully, a second Ctrl-C immediately.
Status: 0 stopped, 1 could not be started, 2 wrong usage, 130 stopped by a second Ctrl-C.
`;

const STOPPED_AT_ONCE = 130; // 128 + SIGINT, as a shell reports it

/**
 * The command `kube-dns up`: checks everything that can be checked, then runs the pod until it is
 * stopped. Resolves with the process's status; throws a CliError when nothing was started.
 */
export async function up(args: readonly string[], context: CommandContext): Promise<number> {
  const given = parseCommand('kube-dns up', UP_FLAGS, args);
  if (given === 'help') {
    context.stdout.write(UP_USAGE);
    return 0;
  }
  const options = given.values;
  const { repository } = context;
  const local = join(repository, 'manifests', 'local');
  const stated = readPod(displayPath(options.manifest ?? join(local, 'pod.yaml')));
  const pod = choose(options['node-cache'] ? withNodeCache(stated, local) : stated, options);
  await checkPorts(pod.containers);
  const volumes = new Volumes(pod.volumes, pod);
  // An uncaught error also emits 'exit': the folders are removed in any case.
  const removeVolumes = () => volumes.close();
  process.once('exit', removeVolumes);
  try {
    const machine = { env: process.env, packagesFolder: join(repository, 'packages') };
    const plans = planPod(pod, volumes, machine);
    return await runPod({ spec: pod, plans, volumes }, options, context);
  } finally {
    process.off('exit', removeVolumes);
    volumes.close();
  }
}

/** The pod with the containers that the options leave in it. */
function choose(pod: PodSpec, options: UpOptions): PodSpec {
  const { kubeconfig, only, 'port-offset': offset } = options;
  const stated = kubeconfig === undefined ? pod : useRealCluster(pod, kubeconfig);
  const chosen = offset === 0 ? stated : offsetPorts(stated, offset);
  if (only.length === 0) return chosen;
  const names = chosen.containers.map((container) => container.name);
  const unknown = only.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new UsageError(`--only ${unknown}: the pod has ${names.join(', ')}`);
  }
  return { ...chosen, containers: chosen.containers.filter(({ name }) => only.includes(name)) };
}

interface PlannedPod {
  readonly spec: PodSpec;
  readonly plans: readonly ContainerPlan[];
  readonly volumes: Volumes;
}

async function runPod(
  planned: PlannedPod,
  { kubeconfig }: UpOptions,
  { stdout, stderr }: CommandContext,
): Promise<number> {
  const { spec, plans } = planned;
  const colours = wantsColours(process.env, stdout.isTTY === true);
  const names = plans.map((plan) => plan.name);
  const log = new LogOutput(stdout, names, colours);
  const pod = new Pod(plans, {
    log,
    clock: systemClock,
    onReady: (seconds) => {
      log.block(readyMessage({ podName: spec.name, seconds, containers: plans, kubeconfig }));
    },
  });
  let status = 0;
  onStopSignals(process, systemClock, {
    onFirst: () => {
      log.say('stopping; press Ctrl-C again to end it immediately');
      pod.stop();
    },
    onAgain: () => {
      status = STOPPED_AT_ONCE;
      pod.kill();
    },
  });
  const followers = followConfigMaps(planned, log);
  const killAll = () => pod.kill();
  const stop = () => pod.stop(); // the reader of the log has gone: `kube-dns up | head`
  process.once('exit', killAll);
  stdout.on('error', stop);
  try {
    log.say(`starting ${names.join(', ')} of ${spec.file}`);
    const failure = await pod.run();
    if (failure === undefined) return status;
    stderr.write(`kube-dns: ${failure}\n`);
    return 1;
  } finally {
    process.off('exit', killAll);
    stdout.off('error', stop);
    for (const follower of followers) follower.close();
    log.close();
  }
}

/** The ConfigMaps of the pod's own API server go into their volumes, as kubelet writes them. */
function followConfigMaps(
  { spec: { namespace }, plans, volumes }: PlannedPod,
  log: LogOutput,
): ConfigMapFollower[] {
  const url = localApiUrl(plans);
  if (url === undefined) return [];
  return volumes.configMaps.map(({ name, folder }) => {
    const onChange = (keys: readonly string[]) =>
      log.say(`the volume of ConfigMap ${name} has ${keys.join(', ') || 'no keys'}`);
    return new ConfigMapFollower({ url, namespace, name, folder, onChange });
  });
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The source of signals: the process, or an event emitter. */
interface SignalSource {
  on(signal: (typeof SIGNALS)[number], listener: () => void): unknown;
}

/**
 * One Ctrl-C can arrive twice: from the terminal, and forwarded by npm. A signal this soon after another
 * is the same key press.
 */
const SAME_PRESS_MS = 250;

interface StopActions {
  readonly onFirst: () => void;
  readonly onAgain: () => void;
}

/**
 * Listens for the signals that stop the pod until the process ends: without a listener one more Ctrl-C
 * would end it by signal and lose its status.
 */
export function onStopSignals(
  source: SignalSource,
  clock: Clock,
  { onFirst, onAgain }: StopActions,
): void {
  let firstAt: number | undefined;
  const listener = () => {
    if (firstAt === undefined) {
      firstAt = clock.now();
      onFirst();
    } else if (clock.now() - firstAt >= SAME_PRESS_MS) {
      onAgain();
    }
  };
  for (const signal of SIGNALS) source.on(signal, listener);
}

/** The path as a user in `cwd` would write it: relative below that folder, else unchanged. */
export function displayPath(path: string, cwd = process.cwd()): string {
  if (!isAbsolute(path)) return path;
  const short = relative(cwd, path);
  return short === '' || short.startsWith('..') ? path : short;
}
