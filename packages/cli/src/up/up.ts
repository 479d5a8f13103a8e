import { join } from 'node:path';
import { systemClock, UsageError } from '@kube-dns/base';
import type { CommandContext } from '../command.js';
import { ConfigMapFollower } from './config-map-follower.js';
import { displayPath } from './folders.js';
import { LogOutput, wantsColours } from './log-output.js';
import { readPod, type PodSpec } from './manifest.js';
import { withNodeCache } from './node-cache.js';
import { parseUpOptions, UP_USAGE, type UpOptions } from './options.js';
import { planPod, type ContainerPlan } from './plan.js';
import { Pod } from './pod.js';
import { checkPorts } from './ports.js';
import { localApiUrl, readyMessage } from './ready-message.js';
import { useRealCluster } from './real-cluster.js';
import { onStopSignals } from './stop-signals.js';
import { Volumes } from './volumes.js';

const STOPPED_AT_ONCE = 130; // 128 + SIGINT, as a shell reports it

/**
 * The command `kube-dns up`: checks everything that can be checked, then runs the pod until it is
 * stopped. Resolves with the process's status; throws a CliError when nothing was started.
 */
export async function up(args: readonly string[], context: CommandContext): Promise<number> {
  const options = parseUpOptions(args);
  if (options.help) {
    context.stdout.write(UP_USAGE);
    return 0;
  }
  const { repository } = context;
  const local = join(repository, 'manifests', 'local');
  const stated = readPod(displayPath(options.manifest ?? join(local, 'pod.yaml')));
  const pod = choose(options.nodeCache ? withNodeCache(stated, local) : stated, options);
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
function choose(pod: PodSpec, { kubeconfig, only }: UpOptions): PodSpec {
  const chosen = kubeconfig === undefined ? pod : useRealCluster(pod, kubeconfig);
  if (only.length === 0) return chosen;
  const names = chosen.containers.map((container) => container.name);
  const unknown = only.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new UsageError(`--only ${unknown}: the pod has ${names.join(', ')}`);
  }
  return { ...chosen, containers: chosen.containers.filter(({ name }) => only.includes(name)) };
}

/** A pod whose containers can be started. */
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
