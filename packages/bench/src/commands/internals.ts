import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  anonymousBytes,
  ask,
  builtProgram,
  type Command,
  type CommandContext,
  cpuUsage,
  Dockerfile,
  freePort,
  type ImageName,
  IMAGES,
  isOk,
  MeasureError,
  monotonicMs,
  partsOption,
  numberOption,
  type OptionValues,
  Owned,
  Remote,
  RunningProgram,
  TemporaryFolder,
} from '@kube-dns/testkit';
import type { DnsmasqCostsMethods } from '../internals/dnsmasq-costs.js';
import type { KubednsCostsMethods } from '../internals/kubedns-costs.js';
import type { LibraryCostsMethods } from '../internals/library-costs.js';
import type { Measured } from '../internals/measured.js';
import { Series } from '../load/scores.js';
import { startCluster } from '../load/testbed.js';
import { COMMON_OPTIONS } from './command.js';

const MIB = 2 ** 20;
const CPU_MS = 400;
const QUESTIONS = 50;
const START_LIMIT_MS = 30_000;
const ANSWER_LIMIT_MS = 5_000;
const STEP_MS = 2;
const SIZE = { services: 10, slices: 10, endpointsPerSlice: 2, headless: 0 };
const KNOWN = 'a.test';

/** How a program is started and asked. */
interface Subject {
  /** The most anonymous memory when idle. */
  readonly atMostMib: number;
  readonly args: readonly string[];
  /** Whether it has the right answer. */
  readonly ask: () => Promise<boolean>;
}

async function hasAddress(port: number, name: string): Promise<boolean> {
  try {
    return (await ask(port, name, { limitMs: ANSWER_LIMIT_MS })).answers.length > 0;
  } catch {
    // Nothing listens there yet.
    return false;
  }
}

async function subjectOf(image: ImageName, owned: Owned): Promise<Subject> {
  const [port, otherPort] = [await freePort(), await freePort()];
  const isKnown = () => hasAddress(port, KNOWN);
  switch (image) {
    case 'kubedns': {
      const { plan, apiUrl } = await startCluster(owned, SIZE);
      const args = [
        ...[`--kube-master-url=${apiUrl}`, '--dns-bind-address=127.0.0.1', `--dns-port=${port}`],
        ...[`--healthz-port=${otherPort}`, '--nameservers=127.0.0.1:9'],
      ];
      const name = plan.dnsName(0);
      return { atMostMib: 26, args, ask: () => hasAddress(port, name) };
    }
    case 'dnsmasq': {
      const args = [
        ...['--', `--port=${port}`, '--listen-address=127.0.0.1', '--bind-interfaces'],
        ...['--no-resolv', '--cache-size=1000', `--address=/${KNOWN}/192.0.2.1`],
      ];
      return { atMostMib: 18, args, ask: isKnown };
    }
    case 'sidecar': {
      const args = [
        ...['--prometheus-addr=127.0.0.1', `--prometheus-port=${port}`],
        ...[`--dnsmasq-port=${otherPort}`, `--probe=a,127.0.0.1:${otherPort},${KNOWN},5,A`],
      ];
      return { atMostMib: 14, args, ask: () => isOk(port, '/metrics', ANSWER_LIMIT_MS) };
    }
    case 'node-cache': {
      const folder = owned.add(new TemporaryFolder());
      const plugins = `bind 127.0.0.1\nhosts {\n192.0.2.1 ${KNOWN}\n}\ncache 30`;
      const template = `.:${port} {\n${plugins}\nforward . 127.0.0.1:9\n}\n`;
      const args = [
        ...['-localip=127.0.0.1', '-setupinterface=false', '-setupiptables=false'],
        `-basecorefile=${folder.file('Corefile.base', template)}`,
        `-conf=${join(folder.path, 'Corefile')}`,
        ...[`-metrics-listen-address=127.0.0.1:${otherPort}`, '-kubednscm=/nowhere'],
      ];
      return { atMostMib: 26, args, ask: isKnown };
    }
  }
}

async function measureProgram(
  image: ImageName,
  node: string,
  owned: Owned,
): Promise<readonly Measured[]> {
  const subject = await subjectOf(image, owned);
  const { command, environment } = new Dockerfile(image);
  const words = [...command.slice(1, -1), builtProgram(image), ...subject.args];
  const how = { cwd: '/', env: environment, hasOnlyEnv: true };
  const program = owned.add(new RunningProgram(image, node, words, how));
  while (!(await subject.ask())) {
    program.check();
    if (monotonicMs() - program.startedMs > START_LIMIT_MS) {
      throw new MeasureError(`${image} has no answer:\n${program.lastLines}`);
    }
    await delay(STEP_MS);
  }
  const { userMs, systemMs } = cpuUsage(program.pid);
  for (let i = 0; i < QUESTIONS; i++) {
    if (!(await subject.ask())) throw new MeasureError(`${image} has no answer any more`);
  }
  const memory = anonymousBytes(program.pid) / MIB;
  await program.close();
  return [
    {
      name: `${image}: until its first answer`,
      value: userMs + systemMs,
      unit: 'ms CPU',
      atMost: CPU_MS,
    },
    {
      name: `${image}: anonymous memory after ${QUESTIONS} questions`,
      value: memory,
      unit: 'MiB',
      atMost: subject.atMostMib,
    },
  ];
}

/** CPU until the first answer and idle memory of each bundle, with the flags and variables of its image. */
async function measurePrograms(node: string, owned: Owned): Promise<readonly Measured[]> {
  const all: Measured[] = [];
  for (const image of IMAGES) all.push(...(await measureProgram(image, node, owned)));
  return all;
}

/** What a part measures with. */
interface Round {
  readonly node: string;
  readonly owned: Owned;
}

interface Part {
  readonly name: string;
  readonly title: string;
  /** One round of it. */
  readonly measure: (round: Round) => Promise<readonly Measured[]>;
}

/** Each measurement in a process of its own: none has the garbage and the compiled code of another. */
const kubedns = (method: keyof KubednsCostsMethods) => (round: Round) => {
  const entry = new URL('../internals/kubedns-costs.js#KubednsCosts', import.meta.url);
  return round.owned.add(new Remote<KubednsCostsMethods>(method, entry)).call(method);
};
const dnsmasq = (method: keyof DnsmasqCostsMethods) => (round: Round) => {
  const entry = new URL('../internals/dnsmasq-costs.js#DnsmasqCosts', import.meta.url);
  return round.owned.add(new Remote<DnsmasqCostsMethods>(method, entry)).call(method);
};
const library = (method: keyof LibraryCostsMethods) => (round: Round) => {
  const entry = new URL('../internals/library-costs.js#LibraryCosts', import.meta.url);
  return round.owned.add(new Remote<LibraryCostsMethods>(method, entry)).call(method);
};

const PARTS: readonly Part[] = [
  { name: 'questions', title: 'A question to kubedns', measure: kubedns('answers') },
  { name: 'objects', title: 'An object of the API', measure: kubedns('objects') },
  { name: 'kubedns-config', title: 'A ConfigMap of kubedns', measure: kubedns('configurations') },
  { name: 'dnsmasq-config', title: 'A ConfigMap of dnsmasq', measure: dnsmasq('configuration') },
  { name: 'hosts', title: 'A large hosts file', measure: dnsmasq('hostsFile') },
  { name: 'subscription', title: 'A hostile subscription', measure: dnsmasq('subscription') },
  { name: 'cookies', title: 'Cookies', measure: library('cookies') },
  { name: 'counting', title: 'Counting cached answers', measure: library('counting') },
  { name: 'decoding', title: 'Decoding a message', measure: library('decoding') },
  {
    name: 'programs',
    title: 'The start and the memory of the programs',
    measure: ({ node, owned }) => measurePrograms(node, owned),
  },
];

const PART_NAMES = PARTS.map(({ name }) => name);

const { node, json, strict } = COMMON_OPTIONS;

const OPTIONS = {
  only: partsOption(PART_NAMES, 'parts'),
  rounds: numberOption(5, 'rounds of each part', { min: 1, max: 100 }),
  node: { ...node, help: 'Node that runs the programs; the other parts have that of the bench' },
  json,
  strict,
};

type Values = OptionValues<typeof OPTIONS>;

async function run(values: Values, { report, owned, progress }: CommandContext): Promise<void> {
  const { only, rounds } = values;
  const dearest = new Map<string, Set<string>>();
  for (const { name, title, measure } of PARTS) {
    if (!only.includes(name)) continue;
    const series = new Series();
    for (let i = 1; i <= rounds; i++) {
      progress(`round ${i} of ${rounds}: ${title}`);
      const own = owned.add(new Owned());
      for (const each of await measure({ node: values.node, owned: own })) {
        const { name, value, unit, atMost } = each;
        series.add(name, value, { unit, digits: 2, bar: { atMost } });
        if (each.dearest === undefined) continue;
        dearest.set(name, (dearest.get(name) ?? new Set()).add(each.dearest));
      }
      await own.close();
    }
    series.addTo(report, title);
  }
  for (const [name, inputs] of dearest) report.note(`${name}: ${[...inputs].join('; ')}.`);
  report.note('CPU time is that of one thread, or of the whole process with a Node before 23.9.');
}

/** Costs inside the programs that have a bar, one after the other. */
export const INTERNALS: Command<typeof OPTIONS> = {
  name: 'internals',
  summary: 'CPU, stalls and memory inside the programs: questions, objects, ConfigMaps, starts',
  options: OPTIONS,
  format: 'markdown',
  run,
};
