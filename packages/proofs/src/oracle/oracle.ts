import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createApiServer } from '@kube-dns/apiserver';
import {
  type Closable,
  type Command,
  type CommandContext,
  ConfigVolume,
  encodeQuery,
  freePort,
  monotonicMs,
  numberOption,
  type OptionValues,
  ScriptedNameServer,
  TemporaryFolder,
  until,
} from '@kube-dns/testkit';
import { ManifestPod, type PodPorts } from '../fixtures/pod-containers.js';
import { PLAIN, TcpRelay, UdpRelay } from '../fixtures/relays.js';
import { Stalls } from '../fixtures/steady-client.js';
import { BUSY_OPTION, PROGRAM_OPTIONS, quietBar } from '../program-options.js';
import { Random } from '../random.js';
import { askOverTcp, ClientSockets, type Waiting } from '../soak/checking-client.js';
import { readAnswer } from '../soak/questions.js';
import { History, type Time, type OracleAnswer, Verdict } from './verdict.js';
import { type OracleQuestion, randomQuestion, WorldMaker } from './world.js';

/** What happens between dnsmasq and kubedns. */
const FAULT_KINDS = ['cut', 'freeze', 'restart'] as const;
type FaultKind = (typeof FAULT_KINDS)[number];

const HOST = '127.0.0.1';
/** A dead server is noticed after 12 s. */
const NOTICED_MS = 13_500;
const SHORT_MS = 1_500;
/** A kubedns that goes on reads first what the API has sent meanwhile. */
const CATCH_UP_MS = 2_000;
/** dnsmasq asks a server again after a minute that was not there, behind the relay, when it asked first. */
const LIMIT_MS = 150_000;

/** What kubedns says first when it goes on is as old as that. */
const MAX_FROZEN_MS = NOTICED_MS + CATCH_UP_MS;

/** dnsmasq and kubedns of the manifest, with a way between them that can be cut. */
class OraclePod {
  readonly #pod: ManifestPod;
  readonly #tcp: TcpRelay;
  readonly #udp: UdpRelay;
  readonly #recordTtlMs: number;

  constructor(pod: ManifestPod, tcp: TcpRelay, udp: UdpRelay, recordTtlMs: number) {
    this.#pod = pod;
    this.#tcp = tcp;
    this.#udp = udp;
    this.#recordTtlMs = recordTtlMs;
  }

  get ports(): PodPorts {
    return this.#pod.ports;
  }

  /** Waits until dnsmasq gets changes. */
  async live(): Promise<void> {
    const isLive = () => {
      this.#pod.dnsmasq.server.check();
      return this.#count('announces the changes of') > this.#count('announces no changes any more');
    };
    await until('a subscription', isLive, { limitMs: LIMIT_MS });
  }

  /** Makes a fault happen for the n-th time; resolves when it is over and dnsmasq gets changes again. */
  async disturb(kind: FaultKind, n: number): Promise<void> {
    if (kind === 'cut') await this.#cut(n);
    else if (kind === 'freeze') await this.#freeze(n);
    else await this.#restart();
    await this.live();
  }

  /** In turn: everything, TCP alone, everything for longer than a TTL, and a connection that only seems to be there. */
  async #cut(n: number): Promise<void> {
    const way = n % 4 === 3 ? 'silent' : 'closed';
    this.#tcp.way = way;
    if (n % 2 === 0) this.#udp.mode = { ...PLAIN, isCut: true };
    await this.#lost();
    await delay(n % 4 === 2 ? this.#recordTtlMs + SHORT_MS : SHORT_MS);
    this.#tcp.way = 'open';
    this.#udp.mode = PLAIN;
  }

  /** In turn for a short time, and so long that dnsmasq takes it for dead. */
  async #freeze(n: number): Promise<void> {
    const { server } = this.#pod.kubedns;
    server.signal('SIGSTOP');
    await delay(n % 2 === 0 ? SHORT_MS : NOTICED_MS);
    server.signal('SIGCONT');
    await delay(CATCH_UP_MS);
  }

  async #restart(): Promise<void> {
    const lost = this.#lost();
    await this.#pod.kubedns.close();
    await lost;
    this.#pod.restartKubedns();
  }

  async #lost(): Promise<void> {
    const before = this.#count('announces no changes any more');
    const isLost = () => this.#count('announces no changes any more') > before;
    await until('the end of a subscription', isLost, { limitMs: LIMIT_MS });
  }

  #count(line: string): number {
    return this.#pod.dnsmasq.server.stderr.split(line).length - 1;
  }
}

interface OracleClientsOptions {
  readonly port: number;
  readonly perSecond: number;
  readonly next: () => OracleQuestion;
  /** One in this many is sent over TCP, and as many want signatures. */
  readonly isOneIn: (count: number) => boolean;
  readonly onAnswer: (told: OracleAnswer) => void;
}

const TICK_MS = 5;
const TIMEOUT_MS = 5_000;
const SOCKETS = 8;
const EDNS_BYTES = 1_232;
const RARE = 50;

/** Clients that ask one question after the other, at a fixed rate. */
class OracleClients implements Closable {
  readonly #options: OracleClientsOptions;
  readonly #sockets: ClientSockets<OracleQuestion>;
  readonly #timer: NodeJS.Timeout;
  readonly #startMs = monotonicMs();
  asked = 0;

  private constructor(options: OracleClientsOptions, sockets: ClientSockets<OracleQuestion>) {
    this.#options = options;
    this.#sockets = sockets;
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  static async start(options: OracleClientsOptions): Promise<OracleClients> {
    const { port, onAnswer } = options;
    const tell = ({ asking: question, sentMs: askedMs }: Waiting<OracleQuestion>, text?: string) =>
      onAnswer({ question, askedMs, text });
    const sockets = await ClientSockets.open<OracleQuestion>({
      port,
      count: SOCKETS,
      timeoutMs: TIMEOUT_MS,
      onAnswer: (waiting, message) => tell(waiting, readAnswer(message)),
      onTimeout: (waiting) => tell(waiting),
    });
    return new OracleClients(options, sockets);
  }

  close(): Promise<void> {
    clearInterval(this.#timer);
    this.#sockets.close();
    return Promise.resolve();
  }

  #tick(): void {
    const nowMs = monotonicMs();
    const due = Math.floor(((nowMs - this.#startMs) * this.#options.perSecond) / 1_000);
    for (; this.asked < due; this.asked++) this.#ask();
    this.#sockets.sweep(nowMs);
  }

  #ask(): void {
    const { port, next, isOneIn, onAnswer } = this.#options;
    const question = next();
    const askedMs = monotonicMs();
    const isDnssecOk = isOneIn(RARE);
    const query = encodeQuery({ ...question, ednsBytes: EDNS_BYTES, isDnssecOk });
    if (!isOneIn(RARE)) {
      const waiting = { asking: question, firstSentMs: askedMs, sentMs: askedMs, tries: 0 };
      this.#sockets.send(query, waiting);
      return;
    }
    void askOverTcp(port, query, TIMEOUT_MS).then((message) =>
      onAnswer({ question, askedMs, text: message && readAnswer(message) }),
    );
  }
}

const OPTIONS = {
  minutes: numberOption(10, 'minutes of load', { min: 0.1, max: 10_080, isWhole: false }),
  faults: numberOption(20, 'cuts, freezes and restarts, so many of each', { max: 1_000 }),
  qps: numberOption(400, 'questions a second', { min: 1, max: 5_000 }),
  churn: numberOption(100, 'changes a second', { min: 1, max: 1_000 }),
  'record-ttl': numberOption(30, "kubedns's --record-ttl, in seconds", { min: 1 }),
  'max-age': numberOption(100, 'milliseconds that an answer may be old while subscribed', {
    min: 1,
  }),
  seed: numberOption(1, 'another one makes other changes and questions'),
  ...BUSY_OPTION,
  ...PROGRAM_OPTIONS,
};

type Values = OptionValues<typeof OPTIONS>;

const MS = 1_000;
const NEGATIVE_TTL_SECONDS = 5;
const CHURN_TICK_MS = 5;
/** For each question to kubedns itself there are as many to dnsmasq. */
const STRAIGHT_PART = 4;
const PROGRESS_MS = 10_000;

function repeat(act: () => void, everyMs: number): Closable {
  const timer = setInterval(act, everyMs);
  const close = () => {
    clearInterval(timer);
    return Promise.resolve();
  };
  return { close };
}

/** Changes the cluster at its rate until it is closed. */
function churn(history: History, maker: WorldMaker, perSecond: number, apply: Apply) {
  const startMs = monotonicMs();
  const done = { changes: 0 };
  const change = () => {
    const due = ((monotonicMs() - startMs) * perSecond) / MS;
    for (; done.changes < due; done.changes++) {
      const next = maker.next(history.world);
      apply(next);
      history.add(next.world, monotonicMs());
    }
  };
  return Object.assign(done, repeat(change, CHURN_TICK_MS));
}

type Apply = (change: ReturnType<WorldMaker['next']>) => void;

async function startPod(values: Values, { owned }: CommandContext, apiUrl: string) {
  // Reverse names that the cluster does not have: no other server has them.
  const upstream = owned.add(await ScriptedNameServer.start(() => ({ rcode: 'NXDOMAIN' })));
  const folder = owned.add(new TemporaryFolder()).path;
  const volume = new ConfigVolume(join(folder, 'config'));
  await volume.put({ upstreamNameservers: JSON.stringify([`127.0.0.1:${upstream.port}`]) });
  const frontPort = await freePort();
  const manifestPod = owned.add(
    await ManifestPod.start({
      node: values.node,
      nodeFlags: values['node-flags'],
      apiUrl,
      configPath: volume.path,
      hasNoSidecar: true,
      kubednsFlags: [`--record-ttl=${values['record-ttl']}`],
      frontPort,
    }),
  );
  await manifestPod.kubedns.ready();
  const { kubedns } = manifestPod.ports;
  const tcp = owned.add(await TcpRelay.start(HOST, frontPort, kubedns));
  const udp = owned.add(await UdpRelay.start(HOST, frontPort, kubedns));
  const pod = new OraclePod(manifestPod, tcp, udp, values['record-ttl'] * MS);
  await pod.live();
  return pod;
}

async function run(values: Values, context: CommandContext): Promise<void> {
  const { report, progress, owned } = context;
  const random = new Random(values.seed);
  const below = (limit: number) => random.below(limit);
  const maker = new WorldMaker(below);
  const history = new History();
  const first = maker.first();
  history.add(first.world, monotonicMs());
  const api = owned.add(await createApiServer({ seed: first.apply }));
  const pod = await startPod(values, context, api.url);
  progress('the pod is ready');
  const stalls = owned.add(new Stalls());
  const verdict = new Verdict(history, stalls, values['max-age']);
  let time: Time = 'subscribed';
  let calmSinceMs = monotonicMs();
  const churned = owned.add(churn(history, maker, values.churn, ({ apply }) => apply(api.objects)));
  const ask = async (port: number, perSecond: number, calm: Time) => {
    const onAnswer = (told: OracleAnswer) => {
      const isCalm = told.askedMs >= calmSinceMs && time === 'subscribed';
      if (isCalm) verdict.judge(told, calm);
      else if (calm === 'subscribed') verdict.judge(told, 'disturbed');
    };
    const next = () => randomQuestion(below, history.world);
    const isOneIn = (count: number) => random.isOneIn(count);
    return owned.add(await OracleClients.start({ port, perSecond, next, isOneIn, onAnswer }));
  };
  const clients = await ask(pod.ports.dns, values.qps, 'subscribed');
  const straight = await ask(pod.ports.kubedns, values.qps / STRAIGHT_PART, 'straight');
  const startMs = monotonicMs();
  const endMs = startMs + values.minutes * 60 * MS;
  let shown = 0;
  const show = () => {
    progress(progressText(verdict, startMs));
    for (; shown < verdict.examples.length; shown++) progress(verdict.examples[shown]!);
  };
  owned.add(repeat(show, PROGRESS_MS));
  const count = values.faults * FAULT_KINDS.length;
  const made = { cut: 0, freeze: 0, restart: 0 };
  for (let i = 0; i < count; i++) {
    await delay(Math.max(MS, startMs + ((i + 0.5) / count) * (endMs - startMs) - monotonicMs()));
    const kind = FAULT_KINDS[i % FAULT_KINDS.length]!;
    time = 'disturbed';
    progress(`${kind} ${made[kind]}`);
    verdict.calm(`during ${kind} ${made[kind]}`, monotonicMs());
    await pod.disturb(kind, made[kind]++);
    time = 'subscribed';
    calmSinceMs = monotonicMs();
    verdict.calm(`after ${kind} ${made[kind] - 1}`, calmSinceMs);
  }
  await delay(Math.max(MS, endMs - monotonicMs()));
  await churned.close();
  await clients.close();
  await straight.close();
  addFindings(values, context, verdict, stalls);
  report.add('changes', churned.changes, '');
  for (const kind of FAULT_KINDS) report.add(`times of ${kind}`, made[kind], '');
}

function progressText({ tallies }: Verdict, startMs: number): string {
  const { subscribed, disturbed, straight } = tallies;
  return (
    `${((monotonicMs() - startMs) / MS).toFixed(0)} s: ${subscribed.answers} answers, ` +
    `${subscribed.wrong + disturbed.wrong} wrong, oldest while subscribed ` +
    `${Math.max(subscribed.oldestPositiveMs, subscribed.oldestNegativeMs).toFixed(0)} ms, ` +
    `of kubedns itself ${Math.max(straight.oldestPositiveMs, straight.oldestNegativeMs).toFixed(0)} ms`
  );
}

function addFindings(
  values: Values,
  { report }: CommandContext,
  { tallies, examples }: Verdict,
  stalls: Stalls,
): void {
  const maxAgeMs = values['max-age'];
  const ttls = { Positive: values['record-ttl'], Negative: NEGATIVE_TTL_SECONDS };
  for (const time of ['subscribed', 'disturbed'] as const) {
    const { answers, old, wrong, failed, oldestSeenMs, ...oldest } = tallies[time];
    report.add(`${time}: answers`, answers, '', { atLeast: 1 });
    report.add(`${time}: that were never right`, wrong, '', 0);
    const noFailures = time === 'subscribed' ? quietBar(values, 0) : undefined;
    report.add(`${time}: failures`, failed, '', noFailures);
    report.add(`${time}: older than their question`, old, '');
    for (const kind of ['Positive', 'Negative'] as const) {
      const ttlMs = Math.max(ttls[kind] * MS, MAX_FROZEN_MS);
      const bar = maxAgeMs + (time === 'subscribed' ? 0 : ttlMs);
      const what = `${time}: oldest ${kind.toLowerCase()} answer`;
      report.add(what, oldest[`oldest${kind}Ms`], 'ms', quietBar(values, bar));
    }
    report.add(`${time}: oldest answer, with stalls of this machine`, oldestSeenMs, 'ms');
  }
  const { straight } = tallies;
  const oldestMs = Math.max(straight.oldestPositiveMs, straight.oldestNegativeMs);
  report.add('kubedns itself: answers', straight.answers, '', { atLeast: 1 });
  report.add('kubedns itself: that were never right', straight.wrong, '', 0);
  report.add('kubedns itself: oldest answer', oldestMs, 'ms');
  report.add('stalls of this machine, in all', stalls.totalMs, 'ms');
  report.add('the longest of them', stalls.longestMs, 'ms');
  for (const example of examples) report.note(example);
}

/** Every answer of a cluster that changes at random, beside the history of its API, while its pod is disturbed. */
export const ORACLE: Command<typeof OPTIONS> = {
  name: 'oracle',
  summary: 'random changes: how old answers are, while dnsmasq gets changes and while not',
  options: OPTIONS,
  isStrict: true,
  run,
};
