import {
  type Command,
  type CommandContext,
  numberOption,
  type Option,
  type OptionValues,
  Owned,
  Remote,
} from '@kube-dns/testkit';
import type { DnsmasqCostsMethods } from '../internals/dnsmasq-costs.js';
import type { KubednsCostsMethods } from '../internals/kubedns-costs.js';
import type { LibraryCostsMethods } from '../internals/library-costs.js';
import type { Measured } from '../internals/measured.js';
import { measurePrograms } from '../internals/program-costs.js';
import { Series } from '../load/series.js';
import { COMMON_OPTIONS } from './command.js';

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

const partsOption: Option<readonly Part[]> = {
  initial: PARTS,
  value: 'NAME,…',
  help: `parts, all unless given: ${PARTS.map(({ name }) => name).join(', ')}`,
  parse: (text) =>
    text.split(',').map((word) => {
      const part = PARTS.find(({ name }) => name === word);
      if (part !== undefined) return part;
      throw new Error(`"${word}" is none of ${PARTS.map(({ name }) => name).join(', ')}`);
    }),
};

const { node, json, strict } = COMMON_OPTIONS;

const OPTIONS = {
  only: partsOption,
  rounds: numberOption(5, 'rounds of each part', { min: 1, max: 100 }),
  node: { ...node, help: 'Node that runs the programs; the other parts have that of the bench' },
  json,
  strict,
};

type Values = OptionValues<typeof OPTIONS>;

async function run(values: Values, { report, owned, progress }: CommandContext): Promise<void> {
  const { only, rounds } = values;
  const dearest = new Map<string, Set<string>>();
  for (const { title, measure } of only) {
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
