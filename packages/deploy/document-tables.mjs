// What the documents repeat from the code, by document and by the name between its marks.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as bench from '@kube-dns/bench/internal';
import * as cli from '@kube-dns/cli/internal';
import { CONFIG_KEYS } from '@kube-dns/daemon';
import * as dnsmasq from '@kube-dns/dnsmasq/internal';
import * as kubedns from '@kube-dns/kubedns/internal';
import * as nodeCache from '@kube-dns/node-cache/internal';
import * as faults from '@kube-dns/proofs/internal';
import * as sidecar from '@kube-dns/sidecar/internal';
import * as simulated from '@kube-dns/simulator/rows';
import * as testkit from '@kube-dns/testkit';
import { CLUSTER_VERSION_BYTES, DSO_TYPE, EXTENDED_ERROR, IDENTITY_BYTES } from '@kube-dns/wire';

const root = fileURLToPath(new URL('../..', import.meta.url));
const source = (file) => readFileSync(root + file, 'utf8');
const code = (text) => (text === '' ? '' : `\`${text}\``);
const codes = (names = []) => names.map(code).join(', ');

/** Rows that begin so, in this order; the rest of a row is what people wrote. */
const rows = (wanted) => (present) =>
  wanted.map((cells, i) => {
    if (wanted.findIndex(([key]) => key === cells[0]) < i) throw new Error(`${cells[0]}: twice`);
    const old = present.find(([key]) => key === cells[0]) ?? [];
    return [...cells, ...old.slice(cells.length)];
  });

/** The same in the order of the document, in which texts refer to rows before them; new ones are the last. */
const rowsAsPlaced = (wanted) => (present) => {
  const place = ([key]) => present.findIndex(([name]) => name === key) >>> 0;
  return rows(wanted.toSorted((one, other) => place(one) - place(other)))(present);
};

const exactly = (names) => ({ known: names, needed: names });
const atMost = (names) => ({ known: names, needed: [] });
const atLeast = (names) => ({ needed: names });

/** Names that a file shows so: of texts that no table has. */
const namesIn = (file, pattern) => [...source(file).matchAll(pattern)].map(([, name]) => name);
const OPTION = /--([a-z][a-z-]*)/g;
const USAGE_ROW = /^ {2}--([a-z-]+)/gm;
const options = (check) => ({ ...check, pattern: OPTION, column: 0 });

const flags = (table, dashes) =>
  Object.entries(table).map(([name, flag]) => [
    code(dashes + name),
    code(flag.formatDefault?.(flag.initial).replaceAll('"', '') ?? ''),
  ]);
const metrics = (families) =>
  families.map(({ name, type, labelNames }) => [code(name), type, codes(labelNames)]);
const renamed = (families) =>
  families.map(({ name, labelNames = [] }) => [code(name), labelNames.join(', ')]);

const commandFlags = (table) =>
  Object.entries(table)
    .filter(([name]) => name !== 'help')
    .map(([name, { short, value, initialText = '' }]) => {
      const spelling = [short === undefined ? [] : `-${short}`, `--${name}`].flat().join(', ');
      return [code(value === '' ? spelling : `${spelling} ${value}`), code(initialText)];
    });
/** Without the defaults, where people describe them. */
const onlyNames = (table) => table.map(([name]) => [name]);

const dnsmasqFamilies = dnsmasq.metricFamilies({});
const kubednsFamilies = kubedns.metricFamilies({ prefix: 'skydns_skydns' });
const sidecarFamilies = sidecar.metricFamilies({
  namespace: 'kubedns',
  facts: {},
  poll: {},
  probes: [{ spec: { label: '<label>' } }],
});

const spelling = ({ name, short }) => code(short === '' ? `--${name}` : `-${short}, --${name}`);
/** Reasons to refuse an option that have nothing to do with DNS. */
const OTHER_REASONS = ['DHCP, TFTP and router advertisement', 'D-Bus and ubus'];
const refused = dnsmasq.UNSUPPORTED_OPTIONS.filter(({ reason }) => !OTHER_REASONS.includes(reason));
const dnsmasqOptions = [
  ...dnsmasq.KNOWN_OPTIONS.map((option) => [option.name, [spelling(option), 'yes']]),
  ...refused.map((option) => [option.name, [spelling(option), 'no', option.reason]]),
]
  .sort(([one], [other]) => (one < other ? -1 : 1))
  .map(([, cells]) => cells);
const refusedByReason = OTHER_REASONS.map((reason) => {
  const options = dnsmasq.UNSUPPORTED_OPTIONS.filter((option) => option.reason === reason);
  return [reason, codes(options.map(({ name }) => `--${name}`))];
});

/** Those of one byte, character or millisecond are not listed. */
const UNITS = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, s: 1_000 };

/** The value of a constant, `file NAME` or `file NAME.field`, of numbers, products and powers. */
function constantOf(place) {
  const [path, constant] = place.replaceAll('`', '').split(' ');
  const [name, field] = constant.split('.');
  const text = source(`packages/${path.replace('/', '/src/')}`);
  const initial = new RegExp(`const ${name}(?:: [^=]+)? = ([^;]+);`).exec(text)?.[1] ?? '';
  const value = field === undefined ? initial : new RegExp(`${field}: ([^,}]+)`).exec(initial)?.[1];
  if (value === undefined) throw new Error(`SECURITY.md: there is no ${place}`);
  const factors = value.replaceAll('_', '').trim().split(' * ');
  return factors.reduce((product, factor) => product * Number(factor), 1);
}

/** What `--help` says of a flag. */
function helpOf(program, flag) {
  const name = flag.replaceAll(/`|--/g, '');
  const { help } =
    program === 'kubedns'
      ? (kubedns.PROGRAM.flags[name] ?? {})
      : (dnsmasq.KNOWN_OPTIONS.find((option) => option.name === name) ?? {});
  if (help === undefined) throw new Error(`SECURITY.md: ${program} has no flag ${name}`);
  return help;
}

/** The bounds, from the place that the last column names, in the unit of before. */
const bounds = (present) =>
  present.map(([program, what, bound, flag, beyond, place]) => {
    const help = flag === '' ? '' : helpOf(program, flag);
    const value =
      place === '`--help`' ? Number(/default (\d+)/.exec(help)?.[1]) : constantOf(place);
    const [, number, unit] = /^([\d,]+)( ?\w*)$/.exec(bound) ?? [];
    const scale = UNITS[unit?.trim()] ?? 1;
    const isSame = Number(number?.replaceAll(',', '')) * scale === value;
    const text = isSame ? bound : `${(value / scale).toLocaleString('en')}${unit ?? ''}`;
    return [program, what, text, flag, beyond, place];
  });

const rights = testkit.IMAGES.map((name) => [
  code(name),
  /^USER (\d+):\1$/m.exec(source(`images/${name}/Dockerfile`))?.[1] ?? 'not the same as its group',
]);

/** With a link to its runbook. */
const findingRow = ({ code: name, severity, title, mend }) => [
  `[${name}](../../manifests/TROUBLESHOOTING.md#${name.toLowerCase()})`,
  severity,
  title,
  code(mend),
];

const faultRow = ({ id, happens, clients, reasons, duration, metrics: counted, shows }) => {
  const codesOfErrors = reasons?.join(', ') ?? 'none';
  const page = shows?.text ?? 'Nothing';
  const isSimulated = simulated.FAULT_ROWS.some((row) => row.id === id);
  return [
    `${code(id)}${isSimulated ? ' *' : ''}`,
    happens,
    clients,
    codesOfErrors,
    duration,
    counted,
    page,
  ];
};
const faultIds = new Set();
function faultTable(...groups) {
  for (const { id } of groups.flat()) {
    if (faultIds.has(id)) throw new Error(`FAULTS.md: ${id} twice`);
    faultIds.add(id);
  }
  return rows(groups.flat().map(faultRow));
}

const ABOUT_KUBEDNS = [bench.KUBEDNS_SCALE, bench.KUBEDNS_CHANGES, bench.KUBEDNS_QUERIES];
const ABOUT_LOAD = [bench.DNS, bench.DNSMASQ_LOAD];
const OTHERS = [
  bench.ROUTE_HOSTS,
  bench.NAMES_BESIDE,
  bench.FAN_OUT,
  bench.INTERNALS,
  bench.NODE_CACHE,
  bench.OVERLOAD,
  bench.POD_CHANGES,
  bench.QUERY_LOG,
  bench.STRONGEST,
  bench.SUBSCRIPTION_COST,
];
const benchCommands = [...ABOUT_LOAD, ...ABOUT_KUBEDNS, ...OTHERS, bench.PAGE];
const named = (each) => rows(each.map(({ name }) => [code(name)]));
const optionsOf = ({ options }) => Object.keys(options);
const ofAll = ([first, ...others]) =>
  optionsOf(first).filter((name) => others.every(({ options }) => name in options));
const ofLoad = ofAll(ABOUT_LOAD);

/** Names of RFC 8914 in words: STALE_NXDOMAIN is "Stale Nxdomain". */
const inWords = (name) =>
  name
    .split('_')
    .map((word) => word[0] + word.slice(1).toLowerCase())
    .join(' ');

/** The types for private use (RFC 8490 section 10.3). */
const privateTypes = Object.entries(DSO_TYPE)
  .filter(([, type]) => type >= 0xf800)
  .map(([name, type]) => [code(`0x${type.toString(16)}`), code(name)]);
const NUMBER_BYTES = 8;
const versionFields = [[0, IDENTITY_BYTES]];
for (let at = IDENTITY_BYTES; at < CLUSTER_VERSION_BYTES; at += NUMBER_BYTES) {
  versionFields.push([at, NUMBER_BYTES]);
}

export const DOCUMENTS = {
  'CONTRIBUTING.md': { 'bench-commands': named(benchCommands) },
  'SECURITY.md': { bounds, rights: rows(rights) },
  'docs/client-view.md': {
    'ede-codes': rows(
      Object.entries(EXTENDED_ERROR).map(([name, code]) => [String(code), inWords(name)]),
    ),
  },
  'images/README.md': {
    'images-options': options(
      exactly(namesIn('images/build.mjs', USAGE_ROW).filter((name) => name !== 'help')),
    ),
  },
  'packages/apiserver/README.md': {
    'apiserver-flags': options(
      exactly(
        namesIn('packages/apiserver/src/program-options.ts', /^ {2}'?([a-z-]+)'?: (?:\{$|\w+\()/gm),
      ),
    ),
    'apiserver-switches': {
      ...exactly(namesIn('packages/apiserver/src/http/app.ts', /^ {4}'?([a-z-]+)'?: \(/gm)),
      column: 1,
    },
  },
  'packages/bench/README.md': {
    'bench-commands': named(benchCommands),
    'bench-workloads': named([...bench.WORKLOADS, ...bench.PARTS]),
    'load-options': options(exactly(ofLoad)),
    'dns-options': options(exactly(optionsOf(bench.DNS).filter((name) => !ofLoad.includes(name)))),
    'kubedns-options': options(atMost(ofAll(ABOUT_KUBEDNS))),
    'internals-options': options(exactly(optionsOf(bench.INTERNALS))),
    'node-cache-options': options(exactly(optionsOf(bench.NODE_CACHE))),
    'pod-changes-options': options(atMost(optionsOf(bench.POD_CHANGES))),
    'query-log-options': options(atMost(optionsOf(bench.QUERY_LOG))),
    'fan-out-options': options(atMost(optionsOf(bench.FAN_OUT))),
    'overload-options': options(atMost(optionsOf(bench.OVERLOAD))),
    'strongest-scenarios': named(bench.SCENARIOS),
    'strongest-options': options(atMost(optionsOf(bench.STRONGEST))),
    'subscription-cost-options': options(atMost(optionsOf(bench.SUBSCRIPTION_COST))),
    'page-options': options(
      exactly(['only', ...optionsOf(bench.PAGE).filter((name) => !(name in bench.DNS.options))]),
    ),
  },
  'packages/cli/README.md': {
    'up-flags': rows(onlyNames(commandFlags(cli.UP_FLAGS))),
    'check-flags': rows(onlyNames(commandFlags(cli.CHECK_FLAGS))),
    'check-findings': rows(cli.FINDINGS.map(findingRow)),
    'check-pre-findings': rows(cli.PRE_FINDINGS.map(findingRow)),
    'compare-flags': rows(commandFlags(cli.COMPARE_FLAGS)),
    'compare-classes': rows(
      [cli.KNOWN_CLASSES, cli.ASPECTS].flatMap((table) =>
        Object.keys(table).map((name) => [code(name)]),
      ),
    ),
    'explain-flags': rows(onlyNames(commandFlags(cli.EXPLAIN_FLAGS))),
    'top-flags': rows(onlyNames(commandFlags(cli.TOP_FLAGS))),
    'tail-flags': rows(onlyNames(commandFlags(cli.TAIL_FLAGS))),
    'convert-flags': options(
      exactly(Object.keys(cli.CONVERT_FLAGS).filter((name) => name !== 'help')),
    ),
  },
  'packages/dnsmasq/README.md': {
    'nanny-flags': rowsAsPlaced(flags(dnsmasq.PROGRAM.flags, '-')),
    'dnsmasq-options': rows(dnsmasqOptions),
    'dnsmasq-other-options': rows(refusedByReason),
    'dnsmasq-metrics': rowsAsPlaced(metrics(dnsmasqFamilies)),
    'dnsmasq-coredns-metrics': rowsAsPlaced(renamed(dnsmasq.corednsFamilies(dnsmasqFamilies, 53))),
  },
  'packages/kubedns/README.md': {
    'config-keys': rows(CONFIG_KEYS.map((name) => [code(name)])),
    'kubedns-flags': rows(flags(kubedns.PROGRAM.flags, '--')),
    'kubedns-metrics': rowsAsPlaced(metrics(kubednsFamilies)),
    'kubedns-coredns-metrics': rowsAsPlaced(renamed(kubedns.corednsFamilies(kubednsFamilies, {}))),
  },
  'packages/node-cache/README.md': {
    'node-cache-flags': rows(flags(nodeCache.FLAGS, '-')),
    'node-cache-directives': rows([...nodeCache.PLUGINS.keys()].map((name) => [code(name)])),
    'node-cache-refused': atLeast([...nodeCache.REFUSED.keys()]),
  },
  'packages/proofs/FAULTS.md': {
    'faults-api': faultTable(faults.API_ROWS, simulated.API_ROWS),
    'faults-network': faultTable(faults.NETWORK_ROWS),
    'faults-upstreams': faultTable(faults.UPSTREAM_ROWS),
    'faults-config': faultTable(faults.CONFIG_ROWS),
    'faults-processes': faultTable(
      faults.PROCESS_ROWS,
      simulated.PROCESS_ROWS,
      faults.SUBSCRIPTION_ROWS,
    ),
    'faults-limits': faultTable(faults.LIMIT_ROWS, faults.PORT_ROWS),
    'faults-node-cache': faultTable(faults.NODE_CACHE_ROWS),
  },
  'packages/push/README.md': {
    'dso-types': rows(privateTypes),
    'cluster-version': rows(versionFields.map((cells) => cells.map(String))),
  },
  'packages/sidecar/README.md': {
    'sidecar-flags': rows(flags(sidecar.FLAGS, '--')),
    'sidecar-metrics': rowsAsPlaced(metrics(sidecarFamilies).map((cells) => cells.slice(0, 2))),
  },
  'packages/testkit/README.md': {
    // Options and errors of commands are not listed.
    'testkit-exports': {
      ...atLeast(Object.keys(testkit).filter((name) => !/Option|Error|Text|^[A-Z_]+$/.test(name))),
      pattern: /(\w+)/g,
    },
  },
};
