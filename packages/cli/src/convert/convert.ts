import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { optional, type Options, UsageError } from '@kube-dns/base';
import {
  importsOnDisk,
  isMatch,
  parseCorefile,
  writeCorefile,
  type Corefile,
  type FindImports,
} from '@kube-dns/node-cache/corefile';
import { stringify } from 'yaml';
import { flagRows, helpFlag, parseCommand, type CommandContext } from '../command.js';
import {
  dataOf,
  foundText,
  InputError,
  readKubeObjects,
  unreadable,
  type KubeObject,
} from '../manifests/objects.js';
import { asInput, fromCorefile, isPluginName } from './corefile/from-corefile.js';
import { fromLocalDns } from './corefile/from-local-dns.js';
import { toCorefile } from './corefile/to-corefile.js';
import { convertManifest, findWorkload, podWords } from './manifest/convert-manifest.js';
import { Notes } from './dns-setup.js';
import { CONFIG_MAP_KEYS, readPodSource } from './pod/pod-reader.js';
import { podObjects } from './pod/pod-writer.js';

interface ConvertOptions {
  readonly to: 'corefile' | 'configmap' | 'manifest' | 'template';
  /** `-` is stdin. */
  readonly files: readonly string[];
  /** The arguments of the container dnsmasq on one line. */
  readonly line: string | undefined;
}

/** The flags, in the order of the usage. */
export const CONVERT_FLAGS = {
  to: {
    ...optional(
      'FORMAT',
      `what to write; corefile: a Corefile from the ConfigMap kube-dns and, where FILE has it, the Deployment;
      configmap: the ConfigMap kube-dns and the containers' arguments from a Corefile, or from the
      ConfigMap that it is in`,
      formatOf,
    ),
    choices: ['corefile', 'configmap'],
  },
  args: optional(
    'LINE',
    'the arguments of the container dnsmasq, instead of those of a Deployment',
  ),
  from: {
    ...optional(
      'FILE',
      `the template of node-cache's Corefile from FILE, the localdnsconfig.json of AKS LocalDNS`,
    ),
    needs: 'a file',
  },
  manifest: {
    ...optional(
      'FILE',
      `our manifests with domain, address, arguments and configuration of FILE, a Deployment or
      ReplicationController of kube-dns with its other objects`,
    ),
    needs: 'a file',
  },
  help: helpFlag(),
} satisfies Options;

function formatOf(text: string): 'corefile' | 'configmap' {
  if (text !== 'corefile' && text !== 'configmap') throw new Error('must be corefile or configmap');
  return text;
}

const CONVERT_USAGE = `Usage: kube-dns convert --to corefile FILE... [--args LINE]
       kube-dns convert --to configmap FILE
       kube-dns convert --manifest FILE
       kube-dns convert --from FILE

Converts the configuration of kube-dns to CoreDNS and back, the manifest of an older kube-dns
to ours, and the configuration of AKS LocalDNS to that of node-cache. The result is on stdout; what could not be carried over is on stderr and in comments.

Flags:
${flagRows(CONVERT_FLAGS)}

FILE is YAML or JSON, also as kubectl get -o yaml writes it; - is stdin.
Status: 0 everything was carried over, 1 something was not, 2 wrong usage or input.
`;

function parseConvertOptions(args: readonly string[]): ConvertOptions | 'help' {
  const given = parseCommand('kube-dns convert', CONVERT_FLAGS, withJoinedLine(args), Infinity);
  if (given === 'help') return given;
  const { to, manifest, from, args: line } = given.values;
  const files = given.operands;
  const fail = (message: string): never => {
    throw new UsageError(message);
  };
  if (from !== undefined) {
    if (to !== undefined || line !== undefined || manifest !== undefined || files.length > 0) {
      fail('--from goes alone');
    }
    return { to: 'template', files: [from], line };
  }
  if (manifest !== undefined) {
    if (to !== undefined || line !== undefined) fail('--manifest goes without --to and --args');
    return { to: 'manifest', files: [manifest, ...files], line };
  }
  if (to === undefined) return fail('--to, --manifest or --from is missing');
  if (to === 'configmap' && line !== undefined) fail('--args goes with --to corefile');
  if (files.length === 0 && line === undefined) fail('a file is missing');
  if (to === 'configmap' && files.length > 1) fail('--to configmap takes one file');
  if (files.filter((file) => file === '-').length > 1) fail('- can be read once');
  return { to, files, line };
}

/** The value of `--args` begins with a dash and would be read as a flag. */
function withJoinedLine(args: readonly string[]): string[] {
  const at = args.indexOf('--args');
  if (at < 0 || at + 1 >= args.length) return [...args];
  return [...args.slice(0, at), `--args=${args[at + 1]!}`, ...args.slice(at + 2)];
}

const SOMETHING_LOST = 1;
const COREFILE = 'Corefile';
/** How to apply what was written, for its first lines. */
const APPLY: Readonly<Record<ConvertOptions['to'], readonly string[]>> = {
  corefile: [
    'To apply it, save it as Corefile and run:',
    '  kubectl -n kube-system create configmap coredns --from-file=Corefile \\',
    '    --dry-run=client -o yaml | kubectl apply -f -',
  ],
  configmap: [
    'To apply it, save it as pod.yaml in an empty folder with a kustomization.yaml of these two lines:',
    '  resources: [PATH/manifests/kube-dns]',
    '  patches: [{ path: pod.yaml }]',
    'and run: kubectl apply -k FOLDER',
  ],
  template: [
    'To apply it, put it into the key Corefile of the ConfigMap node-local-dns (manifests/node-cache/config-map.yaml),',
    'and start node-cache with -localip=169.254.10.10,169.254.10.11.',
  ],
  manifest: ['To apply it, save it as kube-dns.yaml and run: kubectl apply -f kube-dns.yaml'],
};
/** Larger than any manifest that a cluster takes. */
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * `kube-dns convert`: writes the result to stdout and its notes also to stderr. Resolves with the process's
 * status; throws a CliError, with nothing on stdout, for invalid input.
 */
export async function convert(args: readonly string[], context: CommandContext): Promise<number> {
  const { stdout, stderr } = context;
  const options = parseConvertOptions(args);
  if (options === 'help') {
    stdout.write(CONVERT_USAGE);
    return 0;
  }
  const notes = new Notes();
  const text = await converted(options, context, notes);
  const lines = notes.lines();
  const comments = [...lines, ...APPLY[options.to]].map((line) => `# ${line}\n`);
  stdout.write(`${comments.join('')}\n${text}`);
  for (const line of lines) stderr.write(`${line}\n`);
  return notes.hasLosses ? SOMETHING_LOST : 0;
}

async function converted(
  options: ConvertOptions,
  { repository, stdin }: CommandContext,
  notes: Notes,
): Promise<string> {
  const { to, files, line } = options;
  const inputs: { file: string; text: string }[] = [];
  for (const file of files) inputs.push({ file: nameOf(file), text: await readInput(file, stdin) });
  if (to === 'configmap') {
    const [{ file, text } = { file: '', text: '' }] = inputs;
    const { corefile, findImports, findFile } = corefileIn(text, file);
    return toYaml(podObjects(fromCorefile(corefile, process.env, notes, findImports, findFile)));
  }
  if (to === 'template') {
    const [{ file, text } = { file: '', text: '' }] = inputs;
    return writeCorefile(fromLocalDns(text, file, notes));
  }
  const objects = inputs.flatMap(({ file, text }) => readObjects(text, file));
  if (to === 'manifest') return toYaml(convertManifest(objects, repository, notes));
  const words = line === undefined ? undefined : splitLine(line);
  return writeCorefile(toCorefile(setupOf(objects, words, notes), notes));
}

function setupOf(
  objects: readonly KubeObject[],
  words: readonly string[] | undefined,
  notes: Notes,
) {
  const workload = findWorkload(objects);
  const maps = objects.filter(({ kind }) => kind === 'ConfigMap');
  const configMap =
    maps.find(({ name }) => name === 'kube-dns') ?? maps.find((each) => isDnsConfig(each));
  const other = maps.find((each) => dataOf(each).has(COREFILE));
  if (configMap === undefined && other !== undefined) {
    throw new InputError(
      `${other.file}: ConfigMap ${other.name} has a Corefile, which is what --to corefile writes; ` +
        'probably meant: --to configmap',
    );
  }
  if (configMap === undefined && workload === undefined && words === undefined) {
    const found = foundText(objects);
    throw new InputError(`there is no ConfigMap kube-dns and no pod of kube-dns${found}`);
  }
  for (const each of objects) {
    if (
      each !== workload &&
      each !== configMap &&
      !['Service', 'ServiceAccount'].includes(each.kind)
    ) {
      notes.change(`${each.kind} ${each.name}`, 'a Corefile has no counterpart');
    }
  }
  const pod =
    workload === undefined ? { kubedns: undefined, dnsmasq: undefined } : podWords(workload);
  const source = {
    words: { ...pod, dnsmasq: words ?? pod.dnsmasq },
    configMap: configMap === undefined ? new Map<string, string>() : dataOf(configMap),
    where: `${configMap?.file ?? ''}: ConfigMap ${configMap?.name ?? ''}`,
  };
  return readPodSource(source, notes);
}

/** Whether a ConfigMap of another name may be that of kube-dns: by its keys. */
function isDnsConfig(configMap: KubeObject): boolean {
  return [...dataOf(configMap).keys()].some((key) => CONFIG_MAP_KEYS.includes(key));
}

/** The objects of a file; throws an InputError that says so when it is a Corefile. */
function readObjects(text: string, file: string): KubeObject[] {
  try {
    return readKubeObjects(text, file);
  } catch (error) {
    if (!isCorefile(text, file)) throw error;
    throw new InputError(`${file}: this is a Corefile; probably meant: --to configmap`, {
      cause: error,
    });
  }
}

function isCorefile(text: string, file: string): boolean {
  try {
    const { blocks } = parseCorefile(text, file);
    return blocks.some(({ directives }) => directives.some(({ name }) => isPluginName(name)));
  } catch {
    return false; // neither
  }
}

interface FoundCorefile {
  readonly corefile: Corefile;
  readonly findImports: FindImports;
  /** Other files in the volume of CoreDNS; undefined where there is no volume, and a path is one of another machine. */
  readonly findFile?: FindImports;
}

/** The Corefile itself, also from a ConfigMap, and where its imports are. */
function corefileIn(text: string, file: string): FoundCorefile {
  if (!/^\s*\{\s*"|^\s*(?:apiVersion|kind|items|metadata):/m.test(text)) {
    const corefile = asInput(() => parseCorefile(text, file));
    return { corefile, findImports: importsOnDisk(file) };
  }
  const objects = readKubeObjects(text, file);
  const maps = objects.filter(({ kind }) => kind === 'ConfigMap');
  const configMap = maps.find((each) => dataOf(each).has(COREFILE));
  if (configMap === undefined) {
    const hint = maps.some(({ name }) => name === 'kube-dns')
      ? '; probably meant: --to corefile'
      : '';
    throw new InputError(`${file}: there is no ConfigMap with the key Corefile in it${hint}`);
  }
  const findImports = importsInObjects(configMap, objects);
  const corefile = asInput(() => parseCorefile(dataOf(configMap).get(COREFILE) ?? '', file));
  return { corefile, findImports, findFile: findImports };
}

function toYaml(objects: readonly object[]): string {
  return objects.map((each) => stringify(each, { lineWidth: 0, singleQuote: true })).join('---\n');
}

function nameOf(file: string): string {
  return file === '-' ? 'stdin' : file;
}

async function readInput(file: string, stdin: Readable): Promise<string> {
  try {
    if (file !== '-') return readFileSync(file, 'utf8');
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of stdin) {
      chunks.push(chunk as Buffer); // stdin has no encoding here
      bytes += (chunk as Buffer).length;
      if (bytes > MAX_BYTES) throw new Error(`more than ${MAX_BYTES} bytes`);
    }
    return Buffer.concat(chunks).toString('utf8');
  } catch (error) {
    throw unreadable(nameOf(file), error);
  }
}

/** Splits a line into words as a shell does: blanks, both quotes and the backslash. Throws an InputError. */
export function splitLine(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (let at = 0; at < line.length; at++) {
    const char = line[at]!;
    if (quote !== '' && char === quote) quote = '';
    else if (char === '\\' && quote !== "'" && at + 1 < line.length)
      word = (word ?? '') + line[++at]!;
    else if (quote === '' && /["']/.test(char)) {
      quote = char;
      word ??= '';
    } else if (quote === '' && /\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? '') + char;
  }
  if (quote !== '') throw new InputError(`--args: the quote ${quote} does not end`);
  return word === undefined ? words : [...words, word];
}

/** Where the addon mounts the ConfigMap of CoreDNS, and a second one for what users add. */
const MOUNTS = ['/etc/coredns', '.'];
const CUSTOM_FOLDER = 'custom';
const CUSTOM_SUFFIX = '-custom';

/**
 * Imports of a Corefile in a ConfigMap: its other keys, and for `custom/*` those of the ConfigMap with the suffix
 * `-custom`, which the large providers mount there.
 */
function importsInObjects(configMap: KubeObject, objects: readonly KubeObject[]): FindImports {
  const custom = objects.find(
    ({ kind, name }) => kind === 'ConfigMap' && name === configMap.name + CUSTOM_SUFFIX,
  );
  return (pattern) => {
    const folder = dirname(pattern);
    const isOwn = MOUNTS.includes(folder);
    const isCustom = MOUNTS.some((mount) => join(mount, CUSTOM_FOLDER) === join(folder));
    const map = isOwn ? configMap : isCustom ? custom : undefined;
    if (map === undefined) return [];
    return [...dataOf(map)]
      .filter(([key]) => isMatch(key, basename(pattern)))
      .map(([key, text]) => ({ name: `${map.name}: ${key}`, text }));
  };
}
