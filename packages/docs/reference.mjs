// Pages of reference: the tables of the documents that are written from the code, side by side.
import { posix } from 'node:path';
import { parse } from 'yaml';

const readme = (name) => `packages/${name}/README.md`;
/** A part between `<!-- table: NAME -->` or `<!-- names: NAME -->` and `<!-- end -->`, with a heading. */
const part = (heading, file, name) => ({ heading, file, name });

export const REFERENCES = [
  {
    file: 'reference/flags.md',
    title: 'Flags and options',
    parts: [
      part('kubedns', readme('kubedns'), 'kubedns-flags'),
      part('dnsmasq, before --', readme('dnsmasq'), 'nanny-flags'),
      part('dnsmasq, behind --', readme('dnsmasq'), 'dnsmasq-options'),
      part('sidecar', readme('sidecar'), 'sidecar-flags'),
      part('node-cache', readme('node-cache'), 'node-cache-flags'),
      part('kube-dns up', readme('cli'), 'up-flags'),
      part('kube-dns check', readme('cli'), 'check-flags'),
      part('kube-dns explain', readme('cli'), 'explain-flags'),
      part('kube-dns top', readme('cli'), 'top-flags'),
      part('kube-dns tail', readme('cli'), 'tail-flags'),
      part('kube-dns compare', readme('cli'), 'compare-flags'),
      part('kube-dns convert', readme('cli'), 'convert-flags'),
    ],
  },
  {
    file: 'reference/configuration.md',
    title: 'Keys and directives',
    parts: [
      part('The ConfigMap kube-dns', readme('kubedns'), 'config-keys'),
      part('The Corefile of node-cache', readme('node-cache'), 'node-cache-directives'),
    ],
  },
  {
    file: 'reference/metrics.md',
    title: 'Metrics',
    parts: [
      part('kubedns', readme('kubedns'), 'kubedns-metrics'),
      part('dnsmasq', readme('dnsmasq'), 'dnsmasq-metrics'),
      part('sidecar', readme('sidecar'), 'sidecar-metrics'),
      part('kubedns, with CoreDNS’s names', readme('kubedns'), 'kubedns-coredns-metrics'),
      part('dnsmasq, with CoreDNS’s names', readme('dnsmasq'), 'dnsmasq-coredns-metrics'),
    ],
    see: [['node-cache', readme('node-cache'), 'what-you-see']],
  },
  { file: 'reference/alerts.md', title: 'Alerts', parts: [] },
  {
    file: 'reference/findings.md',
    title: 'Findings of kube-dns check',
    parts: [
      part('In a cluster, or in files', readme('cli'), 'check-findings'),
      part('Before an installation', readme('cli'), 'check-pre-findings'),
    ],
    see: [['the command', readme('cli'), 'kube-dns-check']],
  },
  {
    file: 'reference/errors.md',
    title: 'Extended DNS Errors',
    parts: [part('Codes', 'docs/client-view.md', 'ede-codes')],
    see: [['the texts of dnsmasq', readme('dnsmasq'), 'how-servers-are-asked']],
  },
  {
    file: 'reference/bounds.md',
    title: 'Bounds',
    parts: [part('What the outside can make large', 'SECURITY.md', 'bounds')],
  },
];

const ALERTS = 'manifests/components/monitoring/alerts.yaml';
const RUNBOOKS = 'manifests/TROUBLESHOOTING.md';

/** A text with its relative links as another file would have them. */
function moved(text, from, to) {
  return text.replaceAll(/\]\((?![a-z]+:)([^)#]*)(#[^)]*)?\)/g, (_, path, hash = '') => {
    const target = path === '' ? from : posix.join(posix.dirname(from), path);
    return `](${posix.relative(posix.dirname(to), target)}${hash})`;
  });
}

function partText({ heading, file, name }, to, read) {
  const pattern = new RegExp(`^<!-- (?:table|names): ${name} -->\\n(.*?)^<!-- end -->$`, 'ms');
  const text = pattern.exec(read(file))?.[1];
  if (text === undefined) throw new Error(`${file} has no part ${name}`);
  const place = posix.relative(posix.dirname(to), file);
  return `## ${heading}\n\n[${file}](${place}) has what belongs to it.\n\n${moved(text, file, to).trim()}\n`;
}

const cell = (text) => text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ').trim();

function alertsText(to, read) {
  const runbooks = posix.relative(posix.dirname(to), RUNBOOKS);
  const sections = parse(read(ALERTS)).spec.groups.map(({ name, rules }) => {
    const rows = rules.map(
      ({ alert, expr, for: duration = '', labels, annotations }) =>
        `| [${alert}](${runbooks}#${alert.toLowerCase()}) | ${labels.severity} | ${duration} | ${cell(annotations.summary)} | \`${cell(expr)}\` |`,
    );
    return `## ${name}\n\n| Alert | Severity | After | Summary | Expression |\n| - | - | - | - | - |\n${rows.join('\n')}\n`;
  });
  return sections.join('\n');
}

/** The Markdown of a page of reference. `read` returns the text of a file of the checkout. */
export function referenceText({ file, title, parts, see = [] }, read) {
  const sections = parts.map((each) => partText(each, file, read));
  if (file === 'reference/alerts.md') sections.push(alertsText(file, read));
  const others = see.map(
    ([name, target, anchor]) =>
      `Elsewhere: [${name}](${posix.relative(posix.dirname(file), target)}#${anchor}).\n`,
  );
  return [`# ${title}\n`, ...others, ...sections].join('\n');
}
