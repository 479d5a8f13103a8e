import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Bar,
  becomesTrue,
  type Command,
  type CommandContext,
  dnsperfOutput,
  dnsperfVersion,
  MeasureError,
  type MetricPage,
  partsOption,
  numberOption,
  type OptionValues,
  type Owned,
  parseDnsperf,
  parseLatencies,
  Remote,
  type Report,
  resetPeak,
  rssBytes,
  type Spread,
  spreadOf,
  PROGRAM_OPTIONS,
  TemporaryFolder,
} from '@kube-dns/testkit';
import { openDescriptors, ProcessWatch } from '../fixtures/process-watch.js';
import { BUSY_OPTION, quietBar } from '../program-options.js';
import {
  type Attack,
  type Attackers,
  type AttackResult,
  type Container,
  DOMAINS,
  type Field,
  HONEST_NAMES,
  startPod,
} from './attack.js';
import { ATTACKS, NOTIFY_ARGS } from './attacks.js';
import type { HonestTcpMethods } from './honest-tcp.js';
import type { HostileServerMethods } from './hostile-server.js';

interface Counter {
  readonly text: string;
  readonly metric: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** What each container counts of an attack, and how a table names it. */
const COUNTERS: Readonly<Record<Container['name'], readonly Counter[]>> = {
  dnsmasq: [
    { text: 'overflows', metric: 'dnsmasq_upstream_overflows_total' },
    { text: 'failures', metric: 'dnsmasq_upstream_failures_total' },
    { text: 'joined', metric: 'dnsmasq_upstream_joined_total' },
    { text: 'evictions', metric: 'dnsmasq_cache_evictions_total' },
    { text: 'refused messages', metric: 'dnsmasq_refused_messages_total' },
    ...['accepted', 'limited', 'refused'].map((result) => ({
      text: `NOTIFY ${result}`,
      metric: 'dnsmasq_notifies_total',
      labels: { result },
    })),
    { text: 'truncated', metric: 'dnsmasq_truncated_answers_total' },
    { text: 'not sent', metric: 'dnsmasq_send_errors_total' },
    { text: 'defects', metric: 'dnsmasq_answer_failures_total' },
    { text: 'unexpected errors', metric: 'dnsmasq_unexpected_errors_total' },
  ],
  kubedns: [
    { text: 'refused messages', metric: 'kubedns_refused_messages_total' },
    { text: 'truncated', metric: 'kubedns_truncated_answers_total' },
    { text: 'not sent', metric: 'kubedns_send_errors_total' },
    { text: 'defects', metric: 'kubedns_answer_failures_total' },
    { text: 'unexpected errors', metric: 'kubedns_unexpected_errors_total' },
  ],
};

const TCP_EVENTS = ['refused', 'idle_closed'] as const;
/** No attack may cause one. */
const DEFECTS = ['defects', 'unexpected errors'];

/** What a container counted between two readings. */
class CounterChange {
  readonly #changes: readonly (readonly [string, number])[];

  constructor(name: Container['name'], before: MetricPage, after: MetricPage) {
    const tcp = TCP_EVENTS.map((event) => ({
      text: `TCP ${event.replace('_', ' ')}`,
      metric: `${name}_tcp_connections_total`,
      labels: { event },
    }));
    this.#changes = [...COUNTERS[name], ...tcp].map(({ text, metric, labels }: Counter) => {
      return [text, after.sum(metric, labels) - before.sum(metric, labels)];
    });
  }

  /** Unexpected errors; NaN when the container has no such counter. */
  get defects(): number {
    const counts = this.#changes.filter(([text]) => DEFECTS.includes(text));
    return counts.reduce((sum, [, count]) => sum + count, 0);
  }

  /** How much the counter of that name has grown. */
  count(name: string): number {
    return this.#changes.find(([text]) => text === name)?.[1] ?? Number.NaN;
  }

  /** What changed, for a table. */
  toString(): string {
    const changed = this.#changes.filter(([, count]) => count !== 0);
    return changed.map(([text, count]) => `${text} ${count.toLocaleString('en-US')}`).join(', ');
  }
}

/** The results of honest clients. */
interface HonestResult {
  readonly sent: number;
  /** Over UDP, however late. */
  readonly answered: number;
  /** Part of the queries over UDP that was answered in time, 0 to 1. */
  readonly inTime: number;
  /** Time to the answers that came, in ms. */
  readonly latencyMs: Spread;
  /** Part of the clients over TCP that got an answer within a second, 0 to 1. */
  readonly overTcp: number;
}

/** Their rates. */
interface HonestRates {
  /** Over UDP, by dnsperf. */
  readonly udpPerSecond: number;
  /** New connections over TCP. */
  readonly tcpPerSecond: number;
}

/** An answer within this time is in time. */
const IN_TIME_MS = 100;

/** Clients that ask for existing names at a moderate rate. */
class HonestClients {
  readonly #owned: Owned;
  readonly #rates: HonestRates;
  readonly #file: string;
  readonly #tcp: Remote<HonestTcpMethods>;

  constructor(owned: Owned, rates: HonestRates) {
    this.#owned = owned;
    this.#rates = rates;
    this.#file = join(owned.add(new TemporaryFolder()).path, 'honest');
    writeFileSync(this.#file, HONEST_NAMES.map((name) => `${name} A\n`).join(''));
    const entry = new URL('./honest-tcp.js#HonestTcp', import.meta.url);
    this.#tcp = owned.add(new Remote<HonestTcpMethods>('the clients over TCP', entry));
  }

  /** Asks for `seconds`; in one second every name is asked for at least once. */
  async ask(port: number, seconds: number): Promise<HonestResult> {
    const { udpPerSecond, tcpPerSecond } = this.#rates;
    await this.#tcp.call('start', port, tcpPerSecond, HONEST_NAMES);
    const output = await dnsperfOutput(
      { host: '127.0.0.1', port },
      {
        file: this.#file,
        seconds,
        perSecond: udpPerSecond,
        printsLatencies: true,
        owned: this.#owned,
      },
    );
    const { asked, answered } = await this.#tcp.call('finish');
    const { sent } = parseDnsperf(output);
    const latencies = parseLatencies(output);
    return {
      sent,
      answered: latencies.length,
      inTime: latencies.filter((ms) => ms <= IN_TIME_MS).length / sent,
      latencyMs: spreadOf(latencies),
      overTcp: answered / asked,
    };
  }
}

/** The figures of one container during an attack. */
interface ContainerResult {
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

/**
 * The sockets and files that a container may have open: TCP clients, as many that have come in the last two seconds and may still
 * subscribe, upstreams, and the rest.
 */
const MAX_DESCRIPTORS = 2 * 1_000 + 512 + 100;

/** One attack, and its effects on the pod. */
interface AttackOutcome {
  readonly attack: Attack;
  readonly did: AttackResult;
  readonly under: HonestResult;
  readonly after: HonestResult;
  /** Those of the pod, the attacked one first. */
  readonly containers: readonly ContainerResult[];
}

/** How long an attack and what comes after it may take. */
interface AttackTimes {
  readonly seconds: number;
  /** Of the honest clients after an attack. */
  readonly calmSeconds: number;
  /** How long containers have to close the descriptors that an attack opened. */
  readonly settleSeconds: number;
}

const LEAD_MS = 100;
const SETTLE_STEP_MS = 100;
/** Allowed increase: connections of probes and scrapes stay open for a while. */
const SPARE_DESCRIPTORS = 8;

/** Attacks one container while honest clients ask it, and looks at both containers. */
async function runAttack(
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

const MIB = 2 ** 20;
const PERCENT = 100;
const IN_TIME_BAR = 90;
/** Questions of one name and type that are in flight. */
const MAX_PAIRS = 4;
const MAX_DROPS_PER_SECOND = 100;
/** After an attack the median is as before, except for other load of the machine. */
const AFTER_FACTOR = 2;
const AFTER_SPARE_MS = 1;
/** dnsmasq asks for 4.5 s after the last client, waits for late replies 10 s at most, and closes the socket within a second. */
const LONGEST_SOCKET_SECONDS = 16;

function ms(value: number): string {
  return value.toFixed(value < 10 ? 2 : 0);
}

function percent(part: number): string {
  return `${(part * PERCENT).toFixed(1)} %`;
}

function mib(bytes: number): string {
  return (bytes / MIB).toFixed(0);
}

interface Judging {
  readonly before: HonestResult;
  readonly settleSeconds: number;
  readonly busy: boolean;
}

/** Adds the figures of an attack with their bars. */
function addOutcome(
  report: Report,
  outcome: AttackOutcome,
  { before, settleSeconds, busy }: Judging,
): void {
  const { attack, did, under, after, containers } = outcome;
  const add = (what: string, ...rest: [number, string, Parameters<Report['add']>[3]]) =>
    report.add(`${attack.name}: ${what}`, ...rest);
  const quiet = <B extends Bar | number>(bar: B) => quietBar({ busy }, bar);
  const atLeast = quiet({ atLeast: IN_TIME_BAR });
  add(`honest queries answered within ${IN_TIME_MS} ms`, under.inTime * PERCENT, '%', atLeast);
  add('the same after it', after.inTime * PERCENT, '%', atLeast);
  const median = before.latencyMs.p50 * AFTER_FACTOR + AFTER_SPARE_MS;
  add('median latency after it', after.latencyMs.p50, 'ms', quiet(median));
  add('honest queries answered after it', after.answered, '', { atLeast: 1 });
  if (did.accepted !== undefined) {
    add('forged replies that were accepted', did.accepted, '', 0);
    if (did.pairs !== undefined) add('pairs of ID and port at a time', did.pairs, '', MAX_PAIRS);
    add('forged replies', did.guesses ?? Number.NaN, '', quiet({ atLeast: 1 }));
  }
  if (did.dropsPerSecond !== undefined) {
    add('messages that dropped answers, a second', did.dropsPerSecond, '', MAX_DROPS_PER_SECOND);
  }
  if (did.acceptedNotifies !== undefined) {
    add('NOTIFY accepted', did.acceptedNotifies, '', 0);
  }
  if (attack.counted !== undefined) {
    const count = containers[0]?.counters.count(attack.counted) ?? Number.NaN;
    add(`counted: ${attack.counted}`, count, '', quiet({ atLeast: 1 }));
  }
  for (const container of containers) {
    const { name, peakRssBytes, memoryLimitBytes, descriptors, counters } = container;
    add(`${name}: peak RSS`, peakRssBytes / MIB, 'MiB', quiet(memoryLimitBytes / MIB));
    add(`${name}: defects`, counters.defects, '', 0);
    add(`${name}: descriptors at the peak`, descriptors.peak, '', MAX_DESCRIPTORS);
    const spared = { atMost: descriptors.before + SPARE_DESCRIPTORS };
    const isSettled = settleSeconds >= LONGEST_SOCKET_SECONDS;
    add(
      `${name}: descriptors after it`,
      descriptors.after,
      '',
      isSettled ? quiet(spared) : undefined,
    );
  }
}

/** One row for each attack. */
function addOutcomes(
  report: Report,
  outcomes: readonly AttackOutcome[],
  before: Readonly<Record<Attack['target'], HonestResult | undefined>>,
): void {
  for (const [target, calm] of Object.entries(before)) {
    if (calm === undefined) continue;
    const { p50, p99 } = calm.latencyMs;
    report.note(
      `Without an attack ${target} answers ${percent(calm.inTime)} within ${IN_TIME_MS} ms: ` +
        `p50 ${ms(p50)} ms, p99 ${ms(p99)} ms.`,
    );
  }
  const header = [
    'attack',
    'a second',
    'in all',
    `honest in ${IN_TIME_MS} ms`,
    'p50/p99 ms',
    'after',
    'TCP',
    'peak RSS MiB',
    'RSS before/after',
    'descriptors',
    'counted',
  ];
  const rows = outcomes.map(({ attack, did, under, after, containers }) => {
    const [own] = containers;
    const each = (text: (container: ContainerResult) => string) => containers.map(text).join('; ');
    return [
      attack.name,
      Math.round(did.perSecond).toLocaleString('en-US'),
      did.did,
      percent(under.inTime),
      `${ms(under.latencyMs.p50)}/${ms(under.latencyMs.p99)}`,
      `${ms(after.latencyMs.p50)}/${ms(after.latencyMs.p99)}`,
      percent(under.overTcp),
      each(
        ({ peakRssBytes, memoryLimitBytes }) => `${mib(peakRssBytes)} of ${mib(memoryLimitBytes)}`,
      ),
      each(({ rssBytes }) => `${mib(rssBytes.before)}/${mib(rssBytes.after)}`),
      each(({ descriptors: d }) => `${d.before}/${d.peak}/${d.after}`),
      own?.counters.toString() ?? '',
    ];
  });
  report.addSection({ title: 'Attacks', header, rows }, outcomes.map(resultOf));
  report.note('Of two figures the first is that of dnsmasq, the second that of kubedns.');
  report.note('Descriptors are the numbers before, at the peak, and after the attack.');
}

function resultOf({ attack, did, under, after, containers }: AttackOutcome): object {
  const { name, target, summary } = attack;
  const texts = containers.map(({ counters, ...rest }) => ({
    ...rest,
    counters: String(counters),
  }));
  return { name, target, summary, ...did, under, after, containers: texts };
}

const ATTACK_NAMES = ATTACKS.map(({ name }) => name);

const OPTIONS = {
  only: partsOption(ATTACK_NAMES, 'attacks to make'),
  seconds: numberOption(10, 'of each attack', { min: 0.2, max: 3_600, isWhole: false }),
  calm: numberOption(2, 'seconds for which latency is measured without one', {
    min: 0.2,
    max: 600,
    isWhole: false,
  }),
  settle: numberOption(20, 'seconds in which descriptors must be closed again', { max: 600 }),
  strength: numberOption(1, 'what the rates of all attacks are multiplied by', {
    min: 0.01,
    max: 100,
    isWhole: false,
  }),
  rate: numberOption(1_500, 'honest queries each second', { min: 10, max: 100_000 }),
  ...BUSY_OPTION,
  ...PROGRAM_OPTIONS,
};

type Values = OptionValues<typeof OPTIONS>;

/** New connections of honest clients over TCP. */
const TCP_PER_SECOND = 20;
/** A question of dnsmasq ends after 4.5 s at the latest. */
const LAST_WORD_MS = 5_000;
const SHORT_LAST_WORD_MS = 300;

function startAttackers(owned: Owned): Attackers {
  return {
    flood: owned.add(new Remote('the flood', new URL('./flood.js#Flood', import.meta.url))),
    tcp: owned.add(
      new Remote('the TCP clients', new URL('./tcp-attacker.js#TcpAttacker', import.meta.url)),
    ),
    spoofer: owned.add(new Remote('the spoofer', new URL('./spoofer.js#Spoofer', import.meta.url))),
    birthday: owned.add(
      new Remote('the forger', new URL('./birthday-server.js#BirthdayServer', import.meta.url)),
    ),
  };
}

/** The servers of names that the cluster does not have. */
async function startServers(
  owned: Owned,
  ports: { readonly silent: number; readonly birthday: number },
): Promise<readonly string[]> {
  const entry = new URL('./hostile-server.js#HostileServer', import.meta.url);
  const upstream = owned.add(new Remote<HostileServerMethods>('the name server', entry));
  const server = await upstream.call('start');
  const dead = await upstream.call('startSilent');
  return [
    `--server=127.0.0.1#${server}`,
    `--server=/${DOMAINS.dead}/127.0.0.1#${dead}`,
    `--server=/${DOMAINS.silent}/127.0.0.1#${ports.silent}`,
    `--server=/${DOMAINS.birthday}/127.0.0.1#${ports.birthday}`,
  ];
}

async function run(values: Values, { report, owned, progress }: CommandContext): Promise<void> {
  const attacks = ATTACKS.filter(({ name }) => values.only.includes(name));
  const { seconds, calm: calmSeconds, settle: settleSeconds, strength, rate, busy } = values;
  if ((await dnsperfVersion()) === undefined) {
    throw new MeasureError('there is no dnsperf on this machine');
  }
  progress('starting a pod and its attackers');
  const attackers = startAttackers(owned);
  const ports = {
    silent: await attackers.spoofer.call('open'),
    birthday: await attackers.birthday.call('open'),
  };
  const servers = await startServers(owned, ports);
  const pod = await startPod(owned, values, [...NOTIFY_ARGS, ...servers]);
  const honest = new HonestClients(owned, { udpPerSecond: rate, tcpPerSecond: TCP_PER_SECOND });
  const lastWordMs = settleSeconds * 1_000 >= LAST_WORD_MS ? LAST_WORD_MS : SHORT_LAST_WORD_MS;
  const before: Record<Attack['target'], HonestResult | undefined> = {
    dnsmasq: undefined,
    kubedns: undefined,
  };
  const outcomes: AttackOutcome[] = [];
  for (const attack of attacks) {
    const { name, summary, target } = attack;
    const calm = (before[target] ??= await honest.ask(pod[target].port, calmSeconds));
    progress(`${name}: ${summary}`);
    const times = { seconds, calmSeconds, settleSeconds };
    const field = { pod, attackers, strength, lastWordMs };
    const outcome = await runAttack(attack, field, honest, times, owned);
    addOutcome(report, outcome, { before: calm, settleSeconds, busy });
    outcomes.push(outcome);
  }
  addOutcomes(report, outcomes, before);
}

/** Honest clients beside attackers: which are answered, and what the attack costs the containers. */
export const ATTACK: Command<typeof OPTIONS> = {
  name: 'attack',
  summary: 'floods, forged replies, bombs and slow TCP clients beside honest clients',
  options: OPTIONS,
  format: 'markdown',
  isStrict: true,
  run,
};
