import { isIP } from 'node:net';
import { MAX_PORT, parseArguments, UsageError } from '@kube-dns/base';
import { isDnsLabel, isDnsSubdomain } from '@kube-dns/daemon';
import { parseAddress, reverseName } from '@kube-dns/wire';
import { flagRows, HELP_FLAG, type FlagTable } from '../command.js';
import { readQuestion, typeNumberOf } from '../question.js';
import { EXPLAINERS, perProgram, type ExplainerName } from './programs.js';

/** The options of `kube-dns explain`. */
export interface ExplainOptions {
  /** As it was typed: with or without its final dot. */
  readonly name: string;
  readonly type: string;
  /** The address that was given in place of a name: its reverse name is asked. */
  readonly address: string | undefined;
  /** Where the question comes from; the namespace is assumed unless given. */
  readonly from: { readonly namespace: string; readonly pod: string | undefined };
  readonly isFromGiven: boolean;
  /** Lower case, without the final dot. */
  readonly domain: string;
  /** A pod to forward the ports of. */
  readonly pod: { readonly namespace: string; readonly name: string } | undefined;
  /** The local ports where each program is looked for. */
  readonly ports: Readonly<Record<ExplainerName, readonly number[]>>;
  readonly kubeconfig: string | undefined;
  readonly api: string | undefined;
  readonly isJson: boolean;
}

/** The flags, in the order of the usage. */
export const EXPLAIN_FLAGS = {
  from: {
    type: 'string',
    value: 'NAMESPACE[/POD]',
    initial: 'default',
    text: 'ask as a pod of this namespace does, or as this pod: then its dnsPolicy and dnsConfig are read',
  },
  pod: {
    type: 'string',
    value: '[NAMESPACE/]POD',
    text: 'explain what this DNS pod answers, by kubectl port-forward; its namespace is kube-system unless given',
  },
  domain: {
    type: 'string',
    value: 'ZONE',
    initial: 'cluster.local',
    text: 'the zone of the cluster',
  },
  'node-cache': portFlag('node-cache'),
  dnsmasq: portFlag('dnsmasq'),
  kubedns: portFlag('kubedns'),
  kubeconfig: {
    type: 'string',
    value: 'FILE',
    text: 'for kubectl and for the pod of --from; KUBECONFIG or ~/.kube/config unless given',
  },
  api: {
    type: 'string',
    value: 'URL',
    text: 'read the pod of --from here; that of kube-dns up is http://127.0.0.1:18080',
  },
  output: {
    type: 'string',
    short: 'o',
    value: 'FORMAT',
    initial: 'text',
    choices: ['text', 'json'],
    text: 'text, or json',
  },
  json: { type: 'boolean', text: 'the same as -o json' },
  help: HELP_FLAG,
} as const satisfies FlagTable;

const DNS_NAMESPACE = 'kube-system';

function portFlag(name: ExplainerName) {
  const initial = EXPLAINERS[name].ports.join(',');
  const text = `the port of ${name} on this machine; several are tried in order, 0 is none`;
  return { type: 'string', value: 'PORTS', initial, text } as const;
}

/** The text of `kube-dns explain --help`. */
export function explainUsage(): string {
  return `Usage: kube-dns explain NAME [TYPE] [flags]

Says why a name is answered as it is: which names a pod's resolver makes of it, what each program
of the cluster's DNS has to say about the one that decides, and what to try. NAME is what a program
in a pod asks for; with a final dot it is asked as it is. TYPE is A unless given. Of an address, the
reverse name is asked for PTR.

It asks node-cache, dnsmasq and kubedns over HTTP on this machine: those of kube-dns up, those of
the pod that it runs in, or those that --pod forwards. They are asked the question themselves.

Flags:
${flagRows(EXPLAIN_FLAGS)}

Status: 0 the name has records of the type, 1 it has none, 2 wrong usage, or nothing can be asked.
`;
}

/** Parses the arguments after `explain`; throws a UsageError. 'help' for `--help`. */
export function parseExplainOptions(args: readonly string[]): ExplainOptions | 'help' {
  const { values, positionals } = parseArguments(
    { args: [...args], options: EXPLAIN_FLAGS, allowPositionals: true },
    'kube-dns explain',
  );
  if (values.help === true) return 'help';
  const [name, type, ...more] = positionals;
  if (name === undefined) fail('a name is missing: kube-dns explain NAME [TYPE]');
  if (more.length > 0) fail(`${JSON.stringify(more[0])} is one argument too many`);
  const format = values.json === true ? 'json' : (values.output ?? 'text');
  if (format !== 'json' && format !== 'text') fail(`--output ${format}: must be text or json`);
  return {
    ...questionOf(name, type),
    from: fromOf(values.from ?? EXPLAIN_FLAGS.from.initial),
    isFromGiven: values.from !== undefined,
    domain: domainOf(values.domain ?? EXPLAIN_FLAGS.domain.initial),
    pod: values.pod === undefined ? undefined : podOf(values.pod),
    ports: perProgram((program) => portsOf(program, values[program])),
    kubeconfig: values.kubeconfig,
    api: values.api,
    isJson: format === 'json',
  };
}

function fail(message: string): never {
  throw new UsageError(message);
}

function questionOf(
  name: string,
  typeText: string | undefined,
): Pick<ExplainOptions, 'name' | 'type' | 'address'> {
  if (isIP(name) !== 0) return reverseQuestion(name, typeText ?? 'PTR');
  const { scheme, host, port } = URL_OR_PORT.exec(name)?.groups ?? {};
  if (host !== undefined && (scheme ?? port) !== undefined) {
    const what = scheme === undefined ? 'a port is no part of a name' : 'a URL is no name';
    fail(`${what}; the name in it is asked with kube-dns explain ${host.replace(/[[\]]/g, '')}`);
  }
  const type = typeText ?? 'A';
  if (typeNumberOf(type) === undefined) fail(`${JSON.stringify(type)} is no record type`);
  if (readQuestion(name, 'A', 'given') === undefined) fail(`${JSON.stringify(name)} is no name`);
  return { name, type: type.toUpperCase(), address: undefined };
}

/** `SCHEME://USER@HOST:PORT/PATH`. */
const URL_OR_PORT =
  /^(?:(?<scheme>[a-z][a-z\d+.-]*):\/\/)?(?:[^/?#]*@)?(?<host>\[[\da-f:.]+\]|[\p{L}\p{N}_.*-]+)(?<port>:\d+)?(?:[/?#].*)?$/iu;

/** No resolver asks DNS for an address: what DNS has for it is the name that it belongs to. */
function reverseQuestion(address: string, type: string) {
  if (type.toUpperCase() !== 'PTR') {
    fail(
      `${address} is an address: no resolver asks DNS for its ${type}; for its name: kube-dns explain ${address}`,
    );
  }
  return { name: `${reverseName(parseAddress(address)!)}.`, type: 'PTR', address };
}

function fromOf(text: string): ExplainOptions['from'] {
  const [namespace = '', pod, ...more] = text.split('/');
  const isPod = pod === undefined || isDnsSubdomain(pod);
  if (!isDnsLabel(namespace) || !isPod || more.length > 0) {
    fail(`--from ${text}: must be a namespace, or NAMESPACE/POD`);
  }
  return { namespace, pod };
}

function podOf(text: string): ExplainOptions['pod'] {
  const [first = '', second, ...more] = text.split('/');
  const [namespace, name] = second === undefined ? [DNS_NAMESPACE, first] : [first, second];
  if (!isDnsLabel(namespace) || !isDnsSubdomain(name) || more.length > 0) {
    fail(`--pod ${text}: must be a pod of ${DNS_NAMESPACE}, or NAMESPACE/POD`);
  }
  return { namespace, name };
}

function domainOf(text: string): string {
  const domain = text.toLowerCase().replace(/\.$/, '');
  if (!isDnsSubdomain(domain)) fail(`--domain ${text}: is no domain`);
  return domain;
}

function portsOf(program: ExplainerName, text: string | undefined): readonly number[] {
  if (text === undefined) return EXPLAINERS[program].ports;
  return text
    .split(',')
    .map((word) => {
      const port = /^\d{1,5}$/.test(word) ? Number(word) : -1;
      if (port < 0 || port > MAX_PORT)
        fail(`--${program} ${text}: must be a port, or several with commas`);
      return port;
    })
    .filter((port) => port !== 0);
}
