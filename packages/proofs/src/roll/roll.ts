import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Bar,
  becomesTrue,
  type Closable,
  type Command,
  type CommandContext,
  type ConfigKeys,
  ConfigVolume,
  dnsperfVersion,
  MeasureError,
  monotonicMs,
  numberOption,
  type OptionValues,
  Remote,
  type Report,
  type RunningProgram,
  TemporaryFolder,
  PROGRAM_OPTIONS,
} from '@kube-dns/testkit';
import {
  manifestTiming,
  type PodTiming,
  ManifestPod,
  type PodOptions,
} from '../fixtures/pod-containers.js';
import { BUSY_OPTION, quietBar } from '../program-options.js';
import type { AnswerFigures, CheckingClientMethods } from '../soak/checking-client.js';
import type { WorldServer } from '../soak/cluster-state.js';
import { startCheckingClient, startEnvironment } from '../soak/pod-environment.js';
import type { BalancerMethods } from './balancer.js';
import { DnsperfClient, rollQuestions } from './dnsperf-client.js';

/**
 * A version of a pod's ConfigMap that leads to the same answers by other servers: those of the world change,
 * and a stub domain that no client asks for is added or removed.
 */
function rollConfig(version: number, ports: Readonly<Record<WorldServer, number>>): ConfigKeys {
  const server = (name: WorldServer) => [`127.0.0.1:${ports[name]}`];
  const isOdd = version % 2 === 1;
  return {
    stubDomains: JSON.stringify({
      'corp.test': server('first'),
      ...(isOdd && { 'other.test': server('second') }),
    }),
    upstreamNameservers: JSON.stringify(server(isOdd ? 'mirror' : 'world')),
  };
}

/** The pod of a slot, its timing, and a callback. */
interface PodSlotOptions {
  readonly pod: PodOptions;
  readonly timing: PodTiming;
  /** Called when the pod becomes ready or not ready, and when it begins to end. */
  readonly onChange: () => void;
}

const STEP_MS = 20;
const KILLED = 'killed after the grace period';

/** The place of one replica: what kubelet does to the pods that follow each other there. */
class PodSlot implements Closable {
  readonly #options: PodSlotOptions;
  #pod: ManifestPod | undefined;
  #probing = new AbortController();
  #isReady = false;

  constructor(options: PodSlotOptions) {
    this.#options = options;
  }

  /** The port of the pod's dnsmasq, when the pod belongs among the endpoints; else undefined. */
  get endpoint(): number | undefined {
    return this.#isReady ? this.#pod?.ports.dns : undefined;
  }

  /** Starts a new pod, whose readiness is probed from now on. */
  async start(): Promise<void> {
    this.#pod = await ManifestPod.start(this.#options.pod);
    this.#probing = new AbortController();
    void this.#probe(this.#pod, this.#probing.signal);
  }

  /** Waits until the pod is ready; throws a MeasureError when it is not in time, or a container ended. */
  async ready(limitMs: number): Promise<void> {
    const isReady = () => {
      for (const container of this.#pod?.containers ?? []) container.check();
      return this.#isReady;
    };
    if (await becomesTrue(isReady, { limitMs, stepMs: STEP_MS })) return;
    throw new MeasureError(`a pod was not ready within ${limitMs / 1_000} s`);
  }

  /**
   * Ends the pod as its deletion does: it is no endpoint any more, its containers get SIGTERM, those with a
   * preStop after that, and containers that still run after the grace period are killed. Returns how each has ended.
   */
  async stop(): Promise<Readonly<Record<string, string>>> {
    const pod = this.#pod;
    if (pod === undefined) return {};
    this.#probing.abort();
    this.#setReady(false);
    const { preStopMs, graceMs } = this.#options.timing;
    const stopping = pod.containers.map((each) =>
      endContainer(each, each === pod.sidecar?.server ? 0 : preStopMs, graceMs),
    );
    return Object.fromEntries(await Promise.all(stopping));
  }

  async close(): Promise<void> {
    this.#probing.abort();
    await this.#pod?.close();
  }

  async #probe(pod: ManifestPod, signal: AbortSignal): Promise<void> {
    const { initialDelayMs, probePeriodMs, probeTimeoutMs, failureThreshold } =
      this.#options.timing;
    let failures = 0;
    let pauseMs = initialDelayMs;
    for (;;) {
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      pauseMs = probePeriodMs;
      const isOk = await pod.isReady(probeTimeoutMs);
      failures = isOk ? 0 : failures + 1;
      // A pod that ends is no endpoint, whatever the result of a late probe.
      if (!this.#probing.signal.aborted && this.#pod === pod) {
        if (isOk) this.#setReady(true);
        else if (failures >= failureThreshold) this.#setReady(false);
      }
    }
  }

  #setReady(isReady: boolean): void {
    if (this.#isReady === isReady) return;
    this.#isReady = isReady;
    this.#options.onChange();
  }
}

/** Ends one container; the end is `0`, or what else came of it. */
async function endContainer(
  container: RunningProgram,
  preStopMs: number,
  graceMs: number,
): Promise<readonly [string, string]> {
  const startMs = performance.now();
  await delay(preStopMs);
  container.signal('SIGTERM');
  const leftMs = graceMs - (performance.now() - startMs);
  if (await becomesTrue(() => !container.isRunning, { limitMs: leftMs, stepMs: STEP_MS })) {
    return [container.name, String(await container.ended)];
  }
  await container.close();
  return [container.name, KILLED];
}

/** What became of the questions while one thing happened. */
interface Phase {
  readonly name: string;
  readonly seconds: number;
  /** Of dnsperf: answered, or given up at the first try. */
  readonly queriesPerSecond: number;
  readonly dnsperf: AnswerFigures;
  readonly checked: AnswerFigures;
  /** Flows that the balancer had to give to another pod. */
  readonly cutFlows: number;
}

/** The sources of the figures of a phase. */
interface PhaseSources {
  readonly dnsperf: DnsperfClient;
  readonly checked: Remote<CheckingClientMethods>;
  readonly balancer: Remote<BalancerMethods>;
}

/** Records what clients noticed in each phase. */
class PhaseLog {
  readonly phases: Phase[] = [];
  readonly #from: PhaseSources;
  #startMs = monotonicMs();
  #cutFlows = 0;

  constructor(from: PhaseSources) {
    this.#from = from;
  }

  /** Ends a phase; the next begins. Throws a MeasureError when dnsperf is gone. */
  async end(name: string): Promise<Phase> {
    const { dnsperf: client, checked: asker, balancer } = this.#from;
    client.check();
    const checked = await asker.call('take');
    const { cutFlows } = await balancer.call('figures');
    const dnsperf = client.take();
    const nowMs = monotonicMs();
    const seconds = (nowMs - this.#startMs) / 1_000;
    const phase = {
      name,
      seconds,
      queriesPerSecond: dnsperf.asked / seconds,
      dnsperf,
      checked,
      cutFlows: cutFlows - this.#cutFlows,
    };
    this.#startMs = nowMs;
    this.#cutFlows = cutFlows;
    this.phases.push(phase);
    return phase;
  }
}

/** What else a run has to be held against. */
interface RollFacts {
  /** Containers that did not end with 0, as sentences. */
  readonly ends: readonly string[];
  /** What dnsperf was to ask. */
  readonly queriesPerSecond: number;
  /** Whether the machine has other work. */
  readonly busy: boolean;
}

/** Below this the machine, and not DNS, was the limit. */
const RATE_PART = 0.9;
const HEADER = [
  'while',
  's',
  'questions/s',
  'p50 ms',
  'p99 ms',
  'first try lost',
  'second try lost',
  'wrong',
  'flows moved',
  'checked',
  'checked: first try lost',
  'second',
  'wrong',
];

function rowOf({
  name,
  seconds,
  queriesPerSecond,
  dnsperf,
  checked,
  cutFlows,
}: Phase): readonly string[] {
  return [
    name,
    seconds.toFixed(1),
    queriesPerSecond.toFixed(0),
    dnsperf.p50Ms.toFixed(2),
    dnsperf.p99Ms.toFixed(2),
    ...[dnsperf.firstTryLost, dnsperf.lost, dnsperf.wrong + dnsperf.servfails, cutFlows].map(
      String,
    ),
    ...[checked.asked, checked.firstTryLost, checked.lost, checked.wrong + checked.servfails].map(
      String,
    ),
  ];
}

/** Reports what clients noticed, and compares it with the promises. */
function addRollFindings(
  report: Pick<Report, 'add' | 'addSection' | 'note'>,
  phases: readonly Phase[],
  { ends, queriesPerSecond, busy }: RollFacts,
): void {
  const sum = (value: (phase: Phase) => number) =>
    phases.reduce((total, phase) => total + value(phase), 0);
  report.addSection({ title: 'Phases', header: HEADER, rows: phases.map(rowOf) }, phases);
  const seconds = sum((phase) => phase.seconds);
  const rate = sum((phase) => phase.queriesPerSecond * phase.seconds) / seconds;
  const quiet = <B extends Bar | number>(bar: B) => quietBar({ busy }, bar);
  report.add('questions a second', rate, '/s', quiet({ atLeast: queriesPerSecond * RATE_PART }));
  report.add(
    'lost at the first try',
    sum(({ dnsperf }) => dnsperf.firstTryLost),
    '',
  );
  report.add(
    'lost at the second try',
    sum(({ dnsperf }) => dnsperf.lost),
    '',
    quiet(0),
  );
  // dnsperf knows an answer by its ID alone: a late one may be taken for that of a later question.
  report.add(
    'wrong rcodes',
    sum(({ dnsperf }) => dnsperf.wrong),
    '',
    quiet(0),
  );
  report.add(
    'SERVFAIL',
    sum(({ dnsperf }) => dnsperf.servfails),
    '',
    quiet(0),
  );
  report.add(
    'checked: right answers',
    sum(({ checked }) => checked.right),
    '',
    { atLeast: 1 },
  );
  report.add(
    'checked: lost at the first try',
    sum(({ checked }) => checked.firstTryLost),
    '',
  );
  report.add(
    'checked: lost at the second try',
    sum(({ checked }) => checked.lost),
    '',
    quiet(0),
  );
  report.add(
    'checked: wrong answers',
    sum(({ checked }) => checked.wrong),
    '',
    0,
  );
  report.add(
    'checked: SERVFAIL',
    sum(({ checked }) => checked.servfails),
    '',
    quiet(0),
  );
  report.add('p99, worst phase', Math.max(...phases.map(({ dnsperf }) => dnsperf.p99Ms)), 'ms');
  report.add('containers that did not end with 0', ends.length, '', 0);
  for (const end of ends) report.note(end);
  for (const { name, dnsperf, checked } of phases) {
    for (const example of [...dnsperf.examples, ...checked.examples]) {
      report.note(`${name}: ${example}`);
    }
  }
}

const OPTIONS = {
  qps: numberOption(10_000, 'questions a second of dnsperf', { min: 10, max: 100_000 }),
  'checked-qps': numberOption(200, 'questions a second of clients that check every record', {
    min: 1,
    max: 5_000,
  }),
  scale: numberOption(1, "part of the manifest's times: 10 is a tenth of them", {
    min: 0.5,
    max: 50,
    isWhole: false,
  }),
  timeout: numberOption(1, 'seconds after which a client asks for the second time', {
    min: 0.2,
    max: 10,
    isWhole: false,
  }),
  pause: numberOption(3, 'seconds of load before, between and after the steps', {
    min: 0,
    isWhole: false,
  }),
  sockets: numberOption(40, 'sockets of dnsperf, each a separate flow', { min: 1, max: 500 }),
  services: numberOption(600, 'services of the cluster', { min: 30, max: 50_000 }),
  ...BUSY_OPTION,
  ...PROGRAM_OPTIONS,
};

type Values = OptionValues<typeof OPTIONS>;

const SLOTS = ['first', 'second'] as const;
const READY_LIMIT_MS = 90_000;
const CHECKED_SOCKETS = 16;
/** A loss shows when its time is over. */
const LATE_MS = 300;
/** In the manifest, in seconds; the sidecar knows whole ones only. */
const PROBE_SECONDS = 5;
const MS = 1_000;

interface Replica {
  readonly name: string;
  readonly slot: PodSlot;
  readonly volume: ConfigVolume;
}

async function run(values: Values, { report, owned, progress }: CommandContext): Promise<void> {
  if ((await dnsperfVersion()) === undefined) throw new MeasureError('there is no dnsperf');
  const { services, scale, timeout: timeoutSeconds } = values;
  const timing = manifestTiming(scale);
  const folder = owned.add(new TemporaryFolder()).path;
  const plan = { changesPerSecond: 0, churned: 0, settled: services, configMs: 0 };
  const { apiUrl, worldPorts } = await startEnvironment(owned, plan);
  const entry = new URL('./balancer.js#Balancer', import.meta.url);
  const balancer = owned.add(new Remote<BalancerMethods>('the balancer', entry));
  const port = await balancer.call('start');

  const replicas: Replica[] = [];
  const publish = async () => {
    // The nodes learn the endpoints of this moment, some time later.
    const endpoints = replicas.flatMap(({ slot }) => slot.endpoint ?? []);
    await delay(timing.propagationMs);
    await balancer.call('setEndpoints', endpoints);
  };
  for (const name of SLOTS) {
    const volume = new ConfigVolume(join(folder, `config-${name}`));
    await volume.put(rollConfig(0, worldPorts));
    const pod = {
      node: values.node,
      nodeFlags: values['node-flags'],
      apiUrl,
      configPath: volume.path,
      probeSeconds: Math.max(1, Math.round(PROBE_SECONDS / scale)),
      kubednsFlags: [`--drain-time=${timing.drainMs}ms`],
    };
    // Fails while everything is being closed; then no client asks any more.
    const onChange = () => void publish().catch(() => undefined);
    replicas.push({ name, slot: owned.add(new PodSlot({ pod, timing, onChange })), volume });
  }
  await Promise.all(replicas.map(({ slot }) => slot.start()));
  await Promise.all(replicas.map(({ slot }) => slot.ready(READY_LIMIT_MS)));
  await delay(timing.propagationMs + LATE_MS);

  const checked = startCheckingClient(owned);
  const dnsperf = owned.add(
    new DnsperfClient({
      port,
      questions: rollQuestions(services),
      queriesPerSecond: values.qps,
      sockets: values.sockets,
      timeoutSeconds,
      folder,
    }),
  );
  await checked.call('start', {
    plan: { ...plan, startMs: monotonicMs() },
    window: { settleMs: 0, cacheMs: 0 },
    queriesPerSecond: values['checked-qps'],
    ports: { dnsmasq: port, kubedns: port },
    timeoutMs: timeoutSeconds * MS,
    retries: 1,
    sockets: CHECKED_SOCKETS,
  });

  const log = new PhaseLog({ dnsperf, checked, balancer });
  const ends: string[] = [];
  const phase = async (name: string, act: () => unknown) => {
    progress(name);
    await act();
    await delay(values.pause * MS + timeoutSeconds * MS + LATE_MS);
    const done = await log.end(name);
    progress(textOf(done));
  };
  await phase('both serve', () => undefined);
  for (const { name, slot, volume } of replicas) {
    await phase(`${name} pod: new configuration`, () => volume.put(rollConfig(1, worldPorts)));
    await phase(`${name} pod: stop`, async () => {
      for (const [container, end] of Object.entries(await slot.stop())) {
        if (end !== '0') ends.push(`${container} of the ${name} pod ended with ${end}`);
      }
    });
    await phase(`${name} pod: start`, async () => {
      await slot.start();
      await slot.ready(READY_LIMIT_MS);
      await delay(timing.propagationMs);
    });
  }
  await Promise.all([dnsperf.finish(), checked.call('finish')]);
  addRollFindings(report, log.phases, {
    ends,
    queriesPerSecond: values.qps,
    busy: values.busy,
  });
}

function textOf({ name, dnsperf, checked, queriesPerSecond }: Phase): string {
  const examples = [...dnsperf.examples, ...checked.examples].map((text) => `; ${text}`).join('');
  return (
    `${name}: ${Math.round(queriesPerSecond)} questions/s, p99 ${dnsperf.p99Ms.toFixed(1)} ms, ` +
    `first try lost ${dnsperf.firstTryLost} + ${checked.firstTryLost}, ` +
    `second ${dnsperf.lost} + ${checked.lost}, wrong ${dnsperf.wrong} + ${checked.wrong}${examples}`
  );
}

/** Two pods with one address, each in turn reconfigured, stopped and started under load. */
export const ROLL: Command<typeof OPTIONS> = {
  name: 'roll',
  summary: 'two pods with one address, each in turn stopped and started: what a client notices',
  options: OPTIONS,
  format: 'markdown',
  isStrict: true,
  run,
};
