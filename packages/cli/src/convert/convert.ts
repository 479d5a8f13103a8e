import { readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { stringify } from 'yaml';
import {
  type Corefile,
  type FindImports,
  importsOnDisk,
  parseCorefile,
  writeCorefile,
} from '@kube-dns/node-cache/corefile';
import type { CommandContext } from '../command.js';
import { splitLine } from './argument-line.js';
import { asInput } from './corefile-input.js';
import { fromCorefile } from './corefile/from-corefile.js';
import { isPluginName } from './corefile/plugins.js';
import { toCorefile } from './corefile/to-corefile.js';
import { importsInObjects } from './import-files.js';
import { InputError } from './input-error.js';
import { dataOf, foundText, readKubeObjects, unreadable, type KubeObject } from './kube-objects.js';
import { convertManifest } from './manifest/convert-manifest.js';
import { findWorkload, podWords } from './manifest/workload.js';
import { CONVERT_USAGE, parseConvertOptions, type ConvertOptions } from './options.js';
import { CONFIG_MAP_KEYS } from './pod/config-map-reader.js';
import { readPodSource } from './pod/pod-words.js';
import { podObjects } from './pod-objects.js';
import { Notes } from './notes.js';

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
  if (options.help) {
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
    const { corefile, findImports } = corefileIn(text, file);
    return toYaml(podObjects(fromCorefile(corefile, process.env, notes, findImports)));
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

/** The Corefile itself, also from a ConfigMap, and where its imports are. */
function corefileIn(text: string, file: string): { corefile: Corefile; findImports: FindImports } {
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
  return {
    corefile: asInput(() => parseCorefile(dataOf(configMap).get(COREFILE) ?? '', file)),
    findImports: importsInObjects(configMap, objects),
  };
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
