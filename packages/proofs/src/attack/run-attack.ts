import { becomesTrue, type Owned, resetPeak, rssBytes } from '@kube-dns/testkit';
import type { Container } from '../fixtures/pod.js';
import { openDescriptors, ProcessWatch } from '../fixtures/process-watch.js';
import type { Attack, AttackResult, Field } from './attack.js';
import { CounterChange } from './counters.js';
import type { HonestClients, HonestResult } from './honest-clients.js';

/** The figures of one container during an attack. */
export interface ContainerResult {
  readonly name: Container['name'];
  readonly peakRssBytes: number;
  readonly memoryLimitBytes: number;
  readonly rssBytes: { readonly before: number; readonly after: number };
  readonly descriptors: {
    readonly before: number;
    readonly peak: number;
    readonly after: number;
  };
  readonly counters: CounterChange;
}

/** The sockets and files that a container may have open. */
export const MAX_DESCRIPTORS = 1_000 + 512 + 100;

/** One attack, and its effects on the pod. */
export interface AttackOutcome {
  readonly attack: Attack;
  readonly did: AttackResult;
  readonly under: HonestResult;
  readonly after: HonestResult;
  /** Those of the pod, the attacked one first. */
  readonly containers: readonly ContainerResult[];
}

/** How long an attack and what comes after it may take. */
export interface AttackTimes {
  readonly seconds: number;
  /** Of the honest clients after an attack. */
  readonly calmSeconds: number;
  /** How long containers have to close the descriptors that an attack opened. */
  readonly settleSeconds: number;
}

const LEAD_MS = 100;
const SETTLE_STEP_MS = 100;
/** Allowed increase: connections of probes and scrapes stay open for a while. */
export const SPARE_DESCRIPTORS = 8;

/** Attacks one container while honest clients ask it, and looks at both containers. */
export async function runAttack(
  attack: Attack,
  field: Omit<Field, 'port'>,
  honest: HonestClients,
  times: AttackTimes,
  owned: Owned,
): Promise<AttackOutcome> {
  const { pod } = field;
  const { port } = pod[attack.target];
  const containers = attack.target === 'dnsmasq' ? [pod.dnsmasq, pod.kubedns] : [pod.kubedns];
  const looks = await Promise.all(containers.map((container) => begin(container, owned)));
  const running = await attack.start({ ...field, port });
  await new Promise((resolve) => setTimeout(resolve, LEAD_MS));
  const under = await honest.ask(port, times.seconds);
  const did = await running.finish();
  const results = [];
  for (const look of looks) results.push(await look.end(times.settleSeconds));
  const after = await honest.ask(port, times.calmSeconds);
  return { attack, did, under, after, containers: results };
}

async function begin(container: Container, owned: Owned) {
  const { server, name, memoryLimitBytes } = container;
  const { pid } = server;
  const metrics = await container.metrics();
  const descriptors = openDescriptors(pid);
  const rss = rssBytes(pid);
  const watch = owned.add(new ProcessWatch(pid));
  const end = async (settleSeconds: number): Promise<ContainerResult> => {
    server.check();
    const peak = { rss: watch.peakRssBytes, descriptors: watch.peakDescriptors };
    await watch.close();
    resetPeak(pid);
    const isSettled = () => openDescriptors(pid) <= descriptors + SPARE_DESCRIPTORS;
    await becomesTrue(isSettled, { limitMs: settleSeconds * 1_000, stepMs: SETTLE_STEP_MS });
    return {
      name,
      peakRssBytes: peak.rss,
      memoryLimitBytes,
      rssBytes: { before: rss, after: rssBytes(pid) },
      descriptors: { before: descriptors, peak: peak.descriptors, after: openDescriptors(pid) },
      counters: new CounterChange(name, metrics, await container.metrics()),
    };
  };
  return { end };
}
