import {
  type Command,
  dnsperfVersion,
  MeasureError,
  numberOption,
  type OptionValues,
  type Owned,
  Remote,
  type CommandContext,
  textOption,
  UsageError,
} from '@kube-dns/testkit';
import { BUSY_OPTION, PROGRAM_OPTIONS } from '../program-options.js';
import { Pod } from '../fixtures/pod.js';
import { ATTACKS } from './attack-table.js';
import type { Attack, Attackers } from './attack.js';
import type { HostileServerMethods } from './hostile-server.js';
import { HonestClients, type HonestResult } from './honest-clients.js';
import { addOutcome, addOutcomes } from './attack-report.js';
import { DOMAINS, PODS, SERVICES } from './names.js';
import { NOTIFY_ARGS } from './notify-floods.js';
import { type AttackOutcome, runAttack } from './run-attack.js';

const OPTIONS = {
  only: textOption('', 'NAME,…', `attacks to make: ${ATTACKS.map(({ name }) => name).join(', ')}`),
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

function attacksNamed(only: string): readonly Attack[] {
  const names = only.split(',').filter((name) => name !== '');
  const unknown = names.find((name) => !ATTACKS.some((attack) => attack.name === name));
  if (unknown !== undefined) throw new UsageError(`--only=${only}: no attack "${unknown}"`);
  return ATTACKS.filter(({ name }) => names.length === 0 || names.includes(name));
}

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

async function startPod(
  values: Values,
  owned: Owned,
  ports: { readonly silent: number; readonly birthday: number },
): Promise<Pod> {
  const entry = new URL('./hostile-server.js#HostileServer', import.meta.url);
  const upstream = owned.add(new Remote<HostileServerMethods>('the name server', entry));
  const server = await upstream.call('start');
  const dead = await upstream.call('startSilent');
  return Pod.start({
    values,
    owned,
    services: SERVICES,
    pods: PODS,
    dnsmasqArgs: [
      ...NOTIFY_ARGS,
      `--server=127.0.0.1#${server}`,
      `--server=/${DOMAINS.dead}/127.0.0.1#${dead}`,
      `--server=/${DOMAINS.silent}/127.0.0.1#${ports.silent}`,
      `--server=/${DOMAINS.birthday}/127.0.0.1#${ports.birthday}`,
    ],
  });
}

async function run(values: Values, { report, owned, progress }: CommandContext): Promise<void> {
  const attacks = attacksNamed(values.only);
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
  const pod = await startPod(values, owned, ports);
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
