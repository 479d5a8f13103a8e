import { readFileSync } from 'node:fs';
import { stringify } from 'yaml';
import { splitLine } from './argument-line.js';
import { parseCorefile, writeCorefile } from './corefile/corefile.js';
import { fromCorefile } from './corefile/from-corefile.js';
import { toCorefile } from './corefile/to-corefile.js';
import { InputError } from './input-error.js';
import { dataOf, readKubeObjects, unreadable, type KubeObject } from './kube-objects.js';
import { convertManifest } from './manifest/convert-manifest.js';
import { findWorkload, podWords } from './manifest/workload.js';
import { CONVERT_USAGE, parseConvertOptions, type ConvertOptions } from './options.js';
import { readPodSource } from './pod/pod-words.js';
import { podObjects } from './pod-objects.js';
import { Notes } from './notes.js';

const SOMETHING_LOST = 1;
/** Larger than any manifest that a cluster takes. */
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * `kube-dns convert`: writes the result to stdout and its notes also to stderr. Resolves with the process's
 * status; throws a CliError, with nothing on stdout, for invalid input.
 */
export async function convert(args: readonly string[], repository: string): Promise<number> {
  const options = parseConvertOptions(args);
  if (options.help) {
    process.stdout.write(CONVERT_USAGE);
    return 0;
  }
  const notes = new Notes();
  const text = await converted(options, repository, notes);
  const lines = notes.lines();
  const comments = lines.map((line) => `# ${line}\n`).join('');
  process.stdout.write(comments + (comments === '' ? '' : '\n') + text);
  for (const line of lines) process.stderr.write(`${line}\n`);
  return notes.hasLosses ? SOMETHING_LOST : 0;
}

async function converted(
  options: ConvertOptions,
  repository: string,
  notes: Notes,
): Promise<string> {
  const { to, files, line } = options;
  const inputs: { file: string; text: string }[] = [];
  for (const file of files) inputs.push({ file: nameOf(file), text: await readInput(file) });
  if (to === 'configmap') {
    const [{ file, text } = { file: '', text: '' }] = inputs;
    const corefile = parseCorefile(corefileIn(text, file), file);
    return toYaml(podObjects(fromCorefile(corefile, process.env, notes)));
  }
  const objects = inputs.flatMap(({ file, text }) => readKubeObjects(text, file));
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
  const configMap = maps.length === 1 ? maps[0] : maps.find(({ name }) => name === 'kube-dns');
  if (configMap === undefined && workload === undefined && words === undefined) {
    const found = objects.map(({ kind, name }) => `${kind} ${name}`).join(', ') || 'nothing';
    throw new InputError(`there is no ConfigMap kube-dns and no pod of kube-dns: ${found}`);
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

/** The Corefile itself, also from a ConfigMap. */
function corefileIn(text: string, file: string): string {
  if (!/^\s*\{\s*"|^\s*(?:apiVersion|kind|items|metadata):/m.test(text)) return text;
  const found = readKubeObjects(text, file)
    .filter(({ kind }) => kind === 'ConfigMap')
    .flatMap((each) => dataOf(each).get('Corefile') ?? []);
  const [corefile] = found;
  if (corefile === undefined) {
    throw new InputError(`${file}: there is no ConfigMap with the key Corefile in it`);
  }
  return corefile;
}

function toYaml(objects: readonly object[]): string {
  return objects.map((each) => stringify(each, { lineWidth: 0, singleQuote: true })).join('---\n');
}

function nameOf(file: string): string {
  return file === '-' ? 'stdin' : file;
}

async function readInput(file: string): Promise<string> {
  try {
    if (file !== '-') return readFileSync(file, 'utf8');
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of process.stdin) {
      chunks.push(chunk as Buffer); // stdin has no encoding here
      bytes += (chunk as Buffer).length;
      if (bytes > MAX_BYTES) throw new Error(`more than ${MAX_BYTES} bytes`);
    }
    return Buffer.concat(chunks).toString('utf8');
  } catch (error) {
    throw unreadable(nameOf(file), error);
  }
}
