import { writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import {
  type Command,
  type CommandContext,
  cpuUsage,
  dnsperfVersion,
  findRealDnsmasq,
  partsOption,
  numberOption,
  type Option,
  type OptionValues,
  type Owned,
  peakRssBytes,
  RealDnsmasq,
  rssBytes,
  runDnsperf,
  spreadOf,
  TemporaryFolder,
  usageSince,
} from '@kube-dns/testkit';
import { askedServices, dnsmasqWithServices, type Mix, MIX_NAMES, mixesOf } from '../queries.js';
import { startEcho } from '../servers/peers.js';
import { ClusterTestbed } from './cluster-testbed.js';
import { COMMON_OPTIONS, SIZE_OPTIONS } from './command.js';

/** A server that takes part. */
interface Contestant {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** Undefined: a server elsewhere, whose CPU time is unknown. */
  readonly pid: number | undefined;
  /** The mixes that it is asked; undefined: all. */
  readonly mixes?: readonly string[];
}

/** What one server did with one mix in one round. */
interface Score {
  readonly contestant: string;
  readonly mix: string;
  readonly round: number;
  readonly queriesPerSecond: number;
  /** CPU time in µs for each answered query; NaN where it is unknown. */
  readonly userUs: number;
  readonly systemUs: number;
  readonly lost: number;
  /** Answers with another rcode than the mix has. */
  readonly wrong: number;
}

/** How long and how often each server is asked each mix. */
interface ContestOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly owned: Owned;
  readonly progress: (text: string) => void;
}

interface Run {
  readonly contestant: Contestant;
  readonly mix: Mix;
  readonly round: number;
  /** The mix as dnsperf reads it. */
  readonly file: string;
}

/** Gives every server the same mixes in turn, round after round: what drifts, drifts for all. */
async function runContest(
  contestants: readonly Contestant[],
  mixes: readonly Mix[],
  options: ContestOptions,
): Promise<readonly Score[]> {
  const { rounds, owned, progress } = options;
  const folder = owned.add(new TemporaryFolder());
  const files = mixes.map(({ name, lines }) => {
    const file = join(folder.path, name);
    writeFileSync(file, `${lines.join('\n')}\n`);
    return file;
  });
  const scores: Score[] = [];
  for (let round = 1; round <= rounds; round++) {
    for (const [i, mix] of mixes.entries()) {
      const asked = contestants.filter(({ mixes: own }) => own?.includes(mix.name) ?? true);
      for (const contestant of asked) {
        progress(`round ${round} of ${rounds}: ${mix.name}, ${contestant.name}`);
        scores.push(await runOnce({ contestant, mix, round, file: files[i]! }, options));
      }
    }
  }
  return scores;
}

async function runOnce(
  { contestant, mix, round, file }: Run,
  { seconds, owned }: ContestOptions,
): Promise<Score> {
  const { name, pid } = contestant;
  const before = pid === undefined ? undefined : cpuUsage(pid);
  const { queriesPerSecond, completed, lost, rcodes } = await runDnsperf(contestant, {
    file,
    seconds,
    owned,
  });
  const used = before && pid !== undefined ? usageSince(before, cpuUsage(pid)) : undefined;
  const perQuery = (ms: number | undefined) => (1_000 * (ms ?? Number.NaN)) / completed;
  return {
    contestant: name,
    mix: mix.name,
    round,
    queriesPerSecond,
    userUs: perQuery(used?.userMs),
    systemUs: perQuery(used?.systemMs),
    lost,
    wrong: completed - (rcodes[mix.rcode] ?? 0),
  };
}

const MIB = 2 ** 20;
const SERVICES = 2_000;
const KUBEDNS = 'kubedns';
const ECHO = 'echo';
const LOOPBACK = /^(?:127\.|::1$)/;

interface Peer {
  readonly host: string;
  readonly port: number;
}

const peerOption: Option<Peer | undefined> = {
  initial: undefined,
  value: 'HOST:PORT',
  help: 'another server on 127.0.0.0/8 or [::1] with the same names',
  parse: (text) => {
    const [, host = '', port = ''] = /^\[?([^[\]]*)\]?:(\d{1,5})$/.exec(text) ?? [];
    if (isIP(host) !== 0 && LOOPBACK.test(host)) return { host, port: Number(port) };
    throw new Error('is no address and port of this machine');
  },
};

const OPTIONS = {
  ...SIZE_OPTIONS,
  services: { ...SIZE_OPTIONS.services, initial: SERVICES },
  slices: { ...SIZE_OPTIONS.slices, initial: SERVICES },
  headless: { ...SIZE_OPTIONS.headless, initial: 0 },
  names: numberOption(SERVICES, 'names that are asked for', { min: 1 }),
  mixes: partsOption(MIX_NAMES, 'what is asked'),
  rounds: numberOption(3, 'rounds', { min: 1, max: 100 }),
  seconds: numberOption(4, 'seconds of each run', { min: 1, max: 600 }),
  peer: peerOption,
  ...COMMON_OPTIONS,
};

type Values = OptionValues<typeof OPTIONS>;

function addScores(
  { report }: CommandContext,
  mix: string,
  contestant: string,
  scores: readonly Score[],
): void {
  const own = scores.filter((score) => score.mix === mix && score.contestant === contestant);
  const rates = own.map(({ queriesPerSecond }) => queriesPerSecond);
  const sum = (field: 'lost' | 'wrong') => own.reduce((total, score) => total + score[field], 0);
  const what = `${mix}, ${contestant}`;
  report.add(`${what}, median`, Math.round(spreadOf(rates).p50), 'queries/s');
  if (!own.some(({ userUs }) => Number.isNaN(userUs))) {
    report.add(`${what}, CPU, user`, spreadOf(own.map(({ userUs }) => userUs)).p50, 'µs/query');
    report.add(
      `${what}, CPU, system`,
      spreadOf(own.map(({ systemUs }) => systemUs)).p50,
      'µs/query',
    );
  }
  if (sum('lost') > 0) report.add(`${what}, lost`, sum('lost'), '');
  // The echo's rcode is that of the query.
  if (contestant === ECHO) return;
  report.add(`${what}, wrong rcode`, sum('wrong'), '', 0);
  report.add(`${what}, CPU × echo, median`, spreadOf(timesEcho(own, scores)).p50, '');
  if (contestant === KUBEDNS) return;
  const ratios = own.map(({ round, queriesPerSecond }) => {
    const ours = scores.find(
      (score) => score.mix === mix && score.contestant === KUBEDNS && score.round === round,
    );
    return (ours?.queriesPerSecond ?? Number.NaN) / queriesPerSecond;
  });
  report.add(`${mix}, kubedns/${contestant}, median`, spreadOf(ratios).p50, '');
  report.add(`${mix}, kubedns/${contestant}, lowest`, Math.min(...ratios), '');
  report.add(`${mix}, kubedns/${contestant}, highest`, Math.max(...ratios), '');
}

/** The CPU time of each score over that of the echo in the same round. */
function timesEcho(own: readonly Score[], scores: readonly Score[]): readonly number[] {
  const cpuUs = ({ userUs, systemUs }: Score) => userUs + systemUs;
  return own.flatMap((score) => {
    const isSame = ({ mix, round }: Score) => mix === score.mix && round === score.round;
    const echo = scores.find((other) => other.contestant === ECHO && isSame(other));
    return echo === undefined ? [] : [cpuUs(score) / cpuUs(echo)];
  });
}

async function run(values: Values, context: CommandContext): Promise<void> {
  const { report, progress, owned } = context;
  const version = await dnsperfVersion();
  if (version === undefined) {
    report.note('Nothing was measured: there is no dnsperf on this machine.');
    return;
  }
  const testbed = await ClusterTestbed.prepare(values, context);
  const services = askedServices(testbed.plan, values.names);
  const mixes = mixesOf(testbed.plan, services).filter(({ name }) => values.mixes.includes(name));
  const kubedns = await testbed.startKubedns();
  await testbed.ready(kubedns);
  const { pid } = kubedns.server;
  const contestants: Contestant[] = [
    { name: KUBEDNS, host: '127.0.0.1', port: testbed.dnsPort, pid },
  ];
  const path = findRealDnsmasq();
  if (path === undefined) report.note('There is no dnsmasq on this machine to compare with.');
  else {
    for (const hasPorts of [false, true]) {
      const own = mixes.map(({ name }) => name).filter((name) => (name === 'SRV') === hasPorts);
      if (own.length === 0) continue;
      const peer = owned.add(
        await RealDnsmasq.start(path, dnsmasqWithServices(testbed.plan, services, { hasPorts })),
      );
      await peer.ready();
      const { port, pid: peerPid } = peer;
      contestants.push({ name: 'dnsmasq', host: '127.0.0.1', port, pid: peerPid, mixes: own });
    }
  }
  if (values.peer) contestants.push({ name: 'peer', ...values.peer, pid: undefined });

  const echo = await startEcho(owned, values['node-flags'], undefined);
  contestants.push({ name: ECHO, host: '127.0.0.1', port: echo.port, pid: echo.pid });

  const { rounds, seconds } = values;
  const scores = await runContest(contestants, mixes, { rounds, seconds, owned, progress });
  kubedns.server.check();
  report.add('names', services.length, '');
  for (const { name } of mixes) {
    const names = new Set(contestants.map((contestant) => contestant.name));
    for (const contestant of names) addScores(context, name, contestant, scores);
  }
  report.add('kubedns, peak RSS', peakRssBytes(pid) / MIB, 'MiB');
  report.add('kubedns, RSS', rssBytes(pid) / MIB, 'MiB');
  report.note(`dnsperf ${version}, -c 4 -q 200, ${rounds} rounds of ${seconds} s, in turn.`);
}

/** Queries per second and CPU per query, beside dnsmasq with the same names. */
export const KUBEDNS_QUERIES: Command<typeof OPTIONS> = {
  name: 'kubedns-queries',
  summary: 'queries per second and CPU per query, beside the real dnsmasq',
  options: OPTIONS,
  run,
};
