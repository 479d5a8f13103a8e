import { setTimeout as delay } from 'node:timers/promises';
import {
  type Command,
  type CommandContext,
  MeasureError,
  monotonicMs,
  numberOption,
  numbersOption,
  type OptionValues,
  PROGRAM_OPTIONS,
  textOption,
  namesOption,
} from '@kube-dns/testkit';
import { networkSkipReason } from '../fixtures/host-network.js';
import { CoreWaits } from './core-waits.js';
import { type FleetFinding, type FleetResult } from './fleet-driver.js';
import { FleetLab, subscribedMs } from './fleet-lab.js';

const OPTIONS = {
  pods: numberOption(2, 'DNS pods behind the Service', { min: 1, max: 20 }),
  servers: numberOption(0, 'kubedns behind a Service of their own; 0: one in each pod', {
    max: 20,
  }),
  'node-caches': numberOption(1, 'node-caches in front of the pods', { min: 1, max: 50 }),
  changes: numberOption(10_000, 'changes that are made', { min: 1 }),
  together: numberOption(100, 'changes at once, at most; one round in three has one', { min: 1 }),
  'limit-ms': numberOption(200, 'an answer may be old for so long, in ms', { min: 1 }),
  'give-up-ms': numberOption(35_000, 'a name is asked for so long for its new answer, in ms', {
    min: 100,
  }),
  delays: numbersOption([], 'how late the first, the second … kubedns sees the changes, in ms'),
  faults: namesOption(
    [],
    'kill:NAME, freeze:NAME, cut:HOST or late:KUBEDNS (killed, and the API server is away for 15 s), one after the other',
  ),
  kinds: textOption(
    '',
    'WORD',
    'only changes with this word in what they are, such as ExternalName',
  ),
  seed: numberOption(1, 'of the changes', {}),
  ...PROGRAM_OPTIONS,
};

type Values = OptionValues<typeof OPTIONS>;

const SLOTS_PER_KIND = 60;
/** For how long each name is asked for; longer than a late kubedns is late. */
const WATCH_MS = 350;
/** From the end of a program to its start again, and how long one is frozen or a host cut off. */
const DOWN_MS = 1_000;
const TROUBLE_MS = 5_000;
/** How long a kubedns that starts does not reach the API server. */
const LATE_MS = 15_000;
/** From the readiness of a pod to the rules of the nodes. */
const PROPAGATION_MS = 300;
/** Changes go on for so long before, between and after faults. */
const CALM_MS = 4_000;
const EXAMPLES = 12;
const FAILED = /^(?:SERVFAIL|REFUSED)/;

async function run(values: Values, { report, owned, progress }: CommandContext): Promise<void> {
  const skipReason = networkSkipReason();
  if (skipReason !== undefined) throw new MeasureError(`the lab ${skipReason}`);
  const latestMs = Math.max(0, ...values.delays);
  const lab = await FleetLab.start(
    {
      node: values.node,
      nodeFlags: values['node-flags'],
      pods: values.pods,
      servers: values.servers,
      nodeCaches: values['node-caches'],
      slotsPerKind: SLOTS_PER_KIND,
    },
    owned,
  );
  for (const [i, delayMs] of values.delays.entries()) await lab.delay(i + 1, delayMs);
  progress('all programs are ready');
  const waits = owned.add(new CoreWaits(() => lab.pids));
  const limitMs = values['limit-ms'] + latestMs;
  const running = lab.driver.call('run', {
    points: lab.points,
    changes: values.changes,
    seed: values.seed,
    kinds: values.kinds,
    together: values.together,
    watchMs: WATCH_MS + latestMs,
    limitMs,
    giveUpMs: values['give-up-ms'],
  });
  // A fault that cannot be made ends the run.
  const faults = makeFaults(lab, values.faults, progress);
  const [result, subscribed] = await Promise.all([running, faults]);
  addFindings(report, result, { limitMs, waits });
  for (const [what, ms] of subscribed) report.add(what, ms, 'ms');
}

/** One after the other; resolves to how long programs took for their subscriptions once they were ready. */
async function makeFaults(
  lab: FleetLab,
  faults: readonly string[],
  progress: (text: string) => void,
): Promise<readonly (readonly [what: string, ms: number])[]> {
  const found: (readonly [string, number])[] = [];
  for (const fault of faults) {
    await delay(CALM_MS);
    progress(`${fault}, after ${await lab.driver.call('progress')} changes`);
    const [verb = '', name = ''] = fault.split(':');
    // A node-cache that ends is the only one that is in trouble; what ends in a pod may give all of them old answers.
    const points = name.startsWith('node') ? [name] : lab.points.map((point) => point.name);
    const setCutOff = (isCutOff: boolean) => lab.driver.call('setCutOff', points, isCutOff);
    await setCutOff(true);
    switch (verb) {
      case 'kill':
        found.push(await killAndStart(lab, name));
        break;
      case 'late': {
        const server = Number(name.split('-')[1]);
        await lab.setReachable(server, false);
        const back = delay(LATE_MS).then(() => lab.setReachable(server, true));
        found.push(await killAndStart(lab, name));
        await back;
        break;
      }
      case 'freeze':
        lab.program(name).signal('SIGSTOP');
        await delay(TROUBLE_MS);
        lab.program(name).signal('SIGCONT');
        break;
      case 'cut':
        await lab.network.cut(name);
        await delay(TROUBLE_MS);
        await lab.network.join(name);
        break;
      default:
        throw new MeasureError(`no fault "${fault}"`);
    }
    await setCutOff(false);
    progress(`${fault} is over`);
  }
  return found;
}

/** As kubelet does it: the pod is none of the Service until it is ready again. */
async function killAndStart(lab: FleetLab, name: string): Promise<readonly [string, number]> {
  const program = lab.program(name);
  await program.kill();
  await lab.setReady(program.host, false);
  await delay(DOWN_MS);
  // Of kubedns the dnsmasq of its pod; of a cache itself.
  const cache = name.startsWith('kubedns')
    ? [...lab.programs.values()].find(
        ({ host, name: other }) => host === program.host && other !== name,
      )
    : program;
  const before = cache?.output().length ?? 0;
  await program.start();
  const readyMs = monotonicMs();
  const later = { name, output: () => cache?.output().slice(cache === program ? 0 : before) ?? '' };
  const live = cache === undefined ? Promise.resolve(readyMs) : subscribedMs(later);
  await delay(PROPAGATION_MS);
  await lab.setReady(program.host, true);
  return [`${name}: from ready to subscribed`, Math.max(0, (await live) - readyMs)];
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

function addFindings(
  report: CommandContext['report'],
  { changes, oldMs, ...result }: FleetResult,
  { limitMs, waits }: { readonly limitMs: number; readonly waits: CoreWaits },
): void {
  const findings = result.findings.map((found) => {
    const waitedMs = waits.longestMs(found.changedMs, found.changedMs + found.oldMs);
    return { ...found, waitedMs, atSeconds: (found.changedMs - result.startMs) / 1_000 };
  });
  const isLate = (found: Found) => found.oldMs - found.waitedMs > limitMs;
  const calm = findings.filter(({ afterCutMs }) => afterCutMs === undefined);
  const late = calm.filter((found) => found.isOld && isLate(found));
  // A client that gets SERVFAIL or REFUSED asks again: no cache was wrong.
  const failed = calm.filter(({ given }) => FAILED.test(given));
  const other = calm.filter(({ isOld, given }) => !isOld && !FAILED.test(given));
  const rows = Object.entries(changes).map(([kind, count]) => {
    const found = late.filter((each) => each.kind === kind);
    const longestMs = Math.max(0, ...found.map((each) => each.oldMs));
    return [kind, count, countChanges(found), found.length > 0 ? Math.round(longestMs) : ''].map(String); // prettier-ignore
  });
  report.addSection(
    { title: 'Changes', header: ['kind', 'changes', 'old for too long', 'longest, ms'], rows },
    { changes, findings },
  );
  const sorted = oldMs.toSorted((a, b) => a - b);
  const made = Object.values(changes).reduce((sum, count) => sum + count, 0);
  report.add('changes', made, '');
  report.add('old answers for too long', countChanges(late), 'changes', 0);
  report.add('neither the old answer nor the new one', countChanges(other), 'changes', 0);
  report.add('SERVFAIL or REFUSED', countChanges(failed), 'changes');
  report.add('old answer: p50', quantile(sorted, 0.5), 'ms');
  report.add('old answer: p99', quantile(sorted, 0.99), 'ms');
  report.add('old answer: longest', sorted.at(-1) ?? Number.NaN, 'ms');
  const waited = calm.filter((found) => found.isOld && !isLate(found));
  report.add('late because a program waited for a core', countChanges(waited), 'changes');
  const cutOff = findings.filter(({ afterCutMs }) => afterCutMs !== undefined);
  report.add('old or other answers while cut off', countChanges(cutOff), 'changes');
  const afterMs = cutOff.filter(({ isOld }) => isOld).map(({ afterCutMs = 0 }) => afterCutMs);
  report.add('old answers after that: longest', Math.max(0, ...afterMs), 'ms');
  report.add('questions', result.questions, '');
  report.add('questions without an answer', result.unanswered, '');
  report.add('time', (result.endMs - result.startMs) / 1_000, 's');
  report.add('the clients stood still', result.stallMs, 'ms');
  for (const each of [...late, ...other].slice(0, EXAMPLES)) report.note(textOf(each));
}

type Found = FleetFinding & { readonly waitedMs: number; readonly atSeconds: number };

function countChanges(found: readonly FleetFinding[]): number {
  return new Set(found.map(({ name, changedMs }) => `${name} ${changedMs}`)).size;
}

function textOf(found: Found): string {
  const { kind, name, point, atSeconds, oldMs, wanted, given, isBack } = found;
  const how = isBack ? 'again after the new one' : 'in place of the new one';
  return `${point}, ${atSeconds.toFixed(1)} s: ${kind}: ${name} was "${given}", ${how}, ${Math.round(oldMs)} ms after it became "${wanted}"`;
}

/** Several pods and node-caches, changes of all kinds, and how long any cache gives an old answer. */
export const FLEET: Command<typeof OPTIONS> = {
  name: 'fleet',
  summary:
    'DNS pods behind a Service and node-caches: how long each gives an old answer after a change',
  options: OPTIONS,
  format: 'markdown',
  isStrict: true,
  run,
};
