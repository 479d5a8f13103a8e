import { isIP } from 'node:net';
import {
  type Command,
  dnsperfVersion,
  findRealDnsmasq,
  numberOption,
  type Option,
  type OptionValues,
  peakRssBytes,
  RealDnsmasq,
  rssBytes,
  spreadOf,
  type CommandContext,
} from '@kube-dns/testkit';
import { runContest, type Contestant, type Score } from '../queries/contest.js';
import { askedServices, MIX_NAMES, mixesOf, type MixName } from '../queries/mixes.js';
import { dnsmasqWithServices } from '../queries/dnsmasq-with-services.js';
import { startEcho } from '../servers/start-echo.js';
import { COMMON_OPTIONS, SIZE_OPTIONS } from './command.js';
import { ClusterTestbed } from './cluster-testbed.js';

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

const mixesOption: Option<readonly MixName[]> = {
  initial: MIX_NAMES,
  value: 'A,SRV,…',
  help: 'what is asked',
  parse: (text) =>
    text.split(',').map((word) => {
      const name = MIX_NAMES.find((each) => each === word);
      if (name === undefined) throw new Error(`"${word}" is none of ${MIX_NAMES.join(', ')}`);
      return name;
    }),
};

const OPTIONS = {
  ...SIZE_OPTIONS,
  services: { ...SIZE_OPTIONS.services, initial: SERVICES },
  slices: { ...SIZE_OPTIONS.slices, initial: SERVICES },
  headless: { ...SIZE_OPTIONS.headless, initial: 0 },
  names: numberOption(SERVICES, 'names that are asked for', { min: 1 }),
  mixes: mixesOption,
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
