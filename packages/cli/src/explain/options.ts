import { isIP } from 'node:net';
import {
  MAX_PORT,
  optional,
  type Options,
  type OptionValues,
  preset,
  switchOption,
  UsageError,
} from '@kube-dns/base';
import { isDnsLabel, isDnsSubdomain } from '@kube-dns/daemon';
import { parseAddress, reverseName } from '@kube-dns/wire';
import { flagRows, helpFlag, parseCommand } from '../command.js';
import { checkName, typeNumberOf } from '../question.js';
import { EXPLAINERS, perProgram, type ExplainerName } from './programs.js';

const DNS_NAMESPACE = 'kube-system';

/** The flags, in the order of the usage. */
export const EXPLAIN_FLAGS = {
  /** Where the question comes from. */
  from: preset(
    'default',
    'NAMESPACE[/POD]',
    'ask as a pod of this namespace does, or as this pod: then its dnsPolicy and dnsConfig are read',
    fromOf,
  ),
  /** A pod to forward the ports of. */
  pod: optional(
    '[NAMESPACE/]POD',
    'explain what this DNS pod answers, by kubectl port-forward; its namespace is kube-system unless given',
    podOf,
  ),
  /** Lower case, without the final dot. */
  domain: preset('cluster.local', 'ZONE', 'the zone of the cluster', domainOf),
  'node-cache': portFlag('node-cache'),
  dnsmasq: portFlag('dnsmasq'),
  kubedns: portFlag('kubedns'),
  kubeconfig: optional(
    'FILE',
    'for kubectl and for the pod of --from; KUBECONFIG or ~/.kube/config unless given',
  ),
  api: optional(
    'URL',
    'read the pod of --from here; that of kube-dns up is http://127.0.0.1:18080',
  ),
  output: {
    ...preset('text', 'FORMAT', 'text, or json', formatOf),
    short: 'o',
    choices: ['text', 'json'],
  },
  json: switchOption('the same as -o json'),
  help: helpFlag(),
} satisfies Options;

/** The options of `kube-dns explain`. */
export interface ExplainOptions extends OptionValues<typeof EXPLAIN_FLAGS> {
  /** As it was typed: with or without its final dot. */
  readonly name: string;
  readonly type: string;
  /** The address that was given in place of a name: its reverse name is asked. */
  readonly address: string | undefined;
  readonly isFromGiven: boolean;
  /** The local ports where each program is looked for. */
  readonly ports: Readonly<Record<ExplainerName, readonly number[]>>;
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
  const given = parseCommand('kube-dns explain', EXPLAIN_FLAGS, args, 2);
  if (given === 'help') return given;
  const { values, operands } = given;
  const [name, type] = operands;
  if (name === undefined) fail('a name is missing: kube-dns explain NAME [TYPE]');
  return {
    ...values,
    ...questionOf(name, type),
    isFromGiven: given.isGiven('from'),
    ports: perProgram((program) => values[program]),
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
  checkName(name);
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

function fromOf(text: string): { readonly namespace: string; readonly pod: string | undefined } {
  const [namespace = '', pod, ...more] = text.split('/');
  const isPod = pod === undefined || isDnsSubdomain(pod);
  if (isDnsLabel(namespace) && isPod && more.length === 0) return { namespace, pod };
  throw new Error('must be a namespace, or NAMESPACE/POD');
}

function podOf(text: string): { readonly namespace: string; readonly name: string } {
  const [first = '', second, ...more] = text.split('/');
  const [namespace, name] = second === undefined ? [DNS_NAMESPACE, first] : [first, second];
  if (isDnsLabel(namespace) && isDnsSubdomain(name) && more.length === 0) {
    return { namespace, name };
  }
  throw new Error(`must be a pod of ${DNS_NAMESPACE}, or NAMESPACE/POD`);
}

function domainOf(text: string): string {
  const domain = text.toLowerCase().replace(/\.$/, '');
  if (!isDnsSubdomain(domain)) throw new Error('is no domain');
  return domain;
}

function formatOf(text: string): 'text' | 'json' {
  if (text !== 'json' && text !== 'text') throw new Error('must be text or json');
  return text;
}

/** Where a program of this machine has its page. */
export function portFlag(name: ExplainerName) {
  const help = `the port of ${name} on this machine; several are tried in order, 0 is none`;
  return preset(EXPLAINERS[name].ports.join(','), 'PORTS', help, portsOf);
}

function portsOf(text: string): readonly number[] {
  return text
    .split(',')
    .map((word) => {
      const port = /^\d{1,5}$/.test(word) ? Number(word) : -1;
      if (port < 0 || port > MAX_PORT) throw new Error('must be a port, or several with commas');
      return port;
    })
    .filter((port) => port !== 0);
}
