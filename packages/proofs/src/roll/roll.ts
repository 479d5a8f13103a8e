import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Command,
  ConfigVolume,
  dnsperfVersion,
  MeasureError,
  monotonicMs,
  numberOption,
  type OptionValues,
  Remote,
  type CommandContext,
  TemporaryFolder,
} from '@kube-dns/testkit';
import { BUSY_OPTION, PROGRAM_OPTIONS } from '../program-options.js';
import { startCheckingClient, startEnvironment } from '../soak/pod-environment.js';
import type { BalancerMethods } from './balancer.js';
import { DnsperfClient } from './dnsperf-client.js';
import { manifestTiming } from './manifest-timing.js';
import { type Phase, PhaseLog } from './phase-log.js';
import { PodSlot } from './pod-slot.js';
import { rollConfig } from './roll-config.js';
import { addRollFindings } from './roll-findings.js';
import { rollQuestions } from './roll-questions.js';

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
