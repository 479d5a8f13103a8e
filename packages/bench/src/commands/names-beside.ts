import { readdirSync, readFileSync } from 'node:fs';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import {
  builtProgram,
  type Command,
  type CommandContext,
  Kubedns,
  MeasureError,
  median,
  numberOption,
  type OptionValues,
  type Remote,
} from '@kube-dns/testkit';
import { RCODE } from '@kube-dns/wire';
import type { OpenLoopMethods } from '../dns/open-loop.js';
import { startOpenLoop } from '../load/run-contest.js';
import { encodeQuestionFile, inRandomOrder, type LoadQuestion } from '../queries.js';
import { followingKubedns } from '../servers/peers.js';
import { bundleOption, COMMON_OPTIONS } from './command.js';

const OPTIONS = {
  before: { ...bundleOption(), help: 'an earlier bundle of kubedns: what the same costs there' },
  services: numberOption(2_000, 'services with an outside address, and as many Ingresses', {
    min: 10,
    max: 20_000,
  }),
  rounds: numberOption(30, 'rounds, in each of which every program is asked in turn', {
    min: 2,
    max: 1_000,
  }),
  seconds: numberOption(1, 'seconds of each turn', { min: 0.1, max: 60, isWhole: false }),
  rate: numberOption(10_000, 'queries a second', { min: 100 }),
  ...COMMON_OPTIONS,
};

type Values = OptionValues<typeof OPTIONS>;

const ALL_NAMES = [
  '--clusterset-domain=clusterset.local',
  '--external-domain=lb.test',
  '--route-names',
  '--search-zone=ap.k8s.io',
  '--search-extra=corp.example',
  '--transfer-to=127.0.0.1',
];
/** A zone answer costs so much more with all of these names, and with none of them than before they were there. */
const BAR_ON = 1.05;
const BAR_OFF = 1.02;
const SOCKETS = 4;
const NAMESPACE = 'shop';
const NS_PER_US = 1_000;
/** Of a compiler in a program that has just started. */
const WARM_UP_ROUNDS = 3;
/** One question in so many is for a name that does not exist. */
const DENIED = 3;

function objectsOf(services: number) {
  const labels = { 'kube-dns/host-names': 'true' };
  const addressOf = (i: number) => `198.${i >> 16}.${(i >> 8) & 255}.${i & 255}`;
  const metadataOf = (i: number) => ({ name: `s${i}`, namespace: NAMESPACE });
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE, labels } },
    ...Array.from({ length: services }, (_, i) => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: metadataOf(i),
      spec: { type: 'LoadBalancer', ports: [{ port: 80 }] },
      status: { loadBalancer: { ingress: [{ ip: addressOf(i) }] } },
    })),
    ...Array.from({ length: services }, (_, i) => ({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: metadataOf(i),
      spec: { rules: [{ host: `h${i}.apps.example.com` }] },
      status: { loadBalancer: { ingress: [{ ip: addressOf(i) }] } },
    })),
  ];
}

function questionsOf(services: number): readonly LoadQuestion[] {
  return inRandomOrder(
    Array.from({ length: services }, (_, i) => {
      const label = i % DENIED === 0 ? `none${i}` : `s${i}`;
      return { name: `${label}.${NAMESPACE}.svc.cluster.local`, type: 'A' };
    }),
  );
}

/** The time that all threads of a process were on a core, in nanoseconds: finer than the ticks of `stat`. */
function coreNs(pid: number): number {
  let ns = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const [onCore = '0'] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ');
    ns += Number(onCore);
  }
  return ns;
}

async function start(
  api: ApiServer,
  { node, 'node-flags': nodeFlags, ...values }: Values,
  { owned }: CommandContext,
  program: string,
  flags: readonly string[],
): Promise<Kubedns> {
  const following = followingKubedns(api.url, [...values['kubedns-flags'], ...flags], nodeFlags);
  const kubedns = owned.add(await Kubedns.start({ ...following, node, program }));
  await kubedns.ready(values['ready-limit'] * 1_000);
  return kubedns;
}

async function run(values: Values, context: CommandContext): Promise<void> {
  const { report, progress, owned } = context;
  const { services, rounds, seconds, rate, before } = values;
  const api = owned.add(await createApiServer());
  progress(`filling an API server: ${services} Services and Ingresses`);
  await api.apply(objectsOf(services));
  const built = values.kubedns === '' ? builtProgram('kubedns') : values.kubedns;
  const earlier = before === '' ? [] : [await start(api, values, context, before, [])];
  const off = await start(api, values, context, built, []);
  const on = await start(api, values, context, built, ALL_NAMES);
  const openLoop: Remote<OpenLoopMethods> = await startOpenLoop(owned, undefined, false);
  const questions = encodeQuestionFile(questionsOf(services));
  const turn = async ({ server, ports }: Kubedns): Promise<number> => {
    const beforeNs = coreNs(server.pid);
    const plan = { port: ports.dns, rate, seconds, sockets: SOCKETS, questions };
    const { answered } = await openLoop.call('run', {
      ...plan,
      rcodes: [RCODE.NOERROR, RCODE.NXDOMAIN],
    });
    server.check();
    if (answered === 0) throw new MeasureError('nothing was answered');
    return (coreNs(server.pid) - beforeNs) / answered / NS_PER_US;
  };
  const costs = new Map([...earlier, off, on].map((each) => [each, [] as number[]]));
  for (let round = -WARM_UP_ROUNDS; round < rounds; round++) {
    progress(round < 0 ? 'warm-up' : `round ${round + 1} of ${rounds}`);
    // Who is first in a round is last in the next one: what the machine does else is in all of them.
    const order = round % 2 === 0 ? [...costs] : [...costs].reverse();
    for (const [each, figures] of order) {
      const cost = await turn(each);
      if (round >= 0) figures.push(cost);
    }
  }
  const of = (each: Kubedns) => costs.get(each)!;
  const ratio = (one: Kubedns, other: Kubedns) =>
    median(of(one).map((cost, i) => cost / of(other)[i]!));
  for (const each of earlier) {
    report.add('a zone answer, earlier build', median(of(each)), 'µs CPU');
    report.add('without names beside the zone / earlier', ratio(off, each), '×', BAR_OFF);
  }
  report.add('a zone answer, none of the names', median(of(off)), 'µs CPU');
  report.add('a zone answer, all of the names', median(of(on)), 'µs CPU');
  report.add('all of the names / none', ratio(on, off), '×', BAR_ON);
}

/** What names beside the zone cost the answers of the zone. */
export const NAMES_BESIDE: Command<typeof OPTIONS> = {
  name: 'names-beside',
  summary: 'what an answer of the zone costs with all names beside the zone, and with none',
  options: OPTIONS,
  run,
};
