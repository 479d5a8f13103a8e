import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { reasonOf, StartError } from '../errors.js';
import { parseDocuments } from '../manifests/documents.js';
import { parseContainer, type ContainerSpec } from './container-spec.js';
import { Field } from './field.js';
import { parseVolume, type VolumeSpec } from './volume-spec.js';

/** A pod as the manifest describes it, checked. */
export interface PodSpec {
  /** The manifest as the user named it. */
  readonly file: string;
  /** The absolute folder of the manifest, for relative host paths. */
  readonly folder: string;
  readonly name: string;
  readonly namespace: string;
  readonly containers: readonly ContainerSpec[];
  readonly volumes: readonly VolumeSpec[];
  readonly terminationGraceMs: number;
}

/** Reads the first Pod or Deployment of a YAML file; throws a StartError that names file and reason. */
export function readPod(file: string): PodSpec {
  let text;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new StartError(`cannot read the manifest ${file}: ${reasonOf(error)}`, { cause: error });
  }
  return parsePod(text, file);
}

/** As {@link readPod}, from the text that was read from `file`. */
export function parsePod(text: string, file: string): PodSpec {
  const kinds: string[] = [];
  for (const document of parseDocuments(text, file)) {
    const root = new Field(file, '', document);
    if (!root.isPresent) continue;
    const kind = root.get('kind').string();
    kinds.push(kind);
    if (kind === 'Pod') return parsePodFields(root, root.get('spec'));
    if (kind === 'Deployment') {
      return parsePodFields(root, root.get('spec').get('template').get('spec'));
    }
  }
  const found = kinds.length === 0 ? 'it is empty' : `it has ${kinds.join(', ')}`;
  throw new StartError(`${file}: there is no Pod and no Deployment in it (${found})`);
}

function parsePodFields(root: Field, spec: Field): PodSpec {
  if (!spec.isPresent) spec.fail('is missing');
  const metadata = root.get('metadata');
  const identity = {
    name: metadata.get('name').string(),
    namespace: metadata.get('namespace').string('default'),
  };
  if (spec.get('initContainers').items().length > 0) {
    spec.get('initContainers').fail('is not supported');
  }
  if (spec.get('restartPolicy').string('Always') !== 'Always') {
    spec.get('restartPolicy').fail('only Always is supported');
  }
  const containers = spec
    .get('containers')
    .items()
    .map((item) => parseContainer(item, identity));
  if (containers.length === 0) spec.get('containers').fail('must name at least one container');
  refuseDoubleNames(spec.get('containers'), containers);
  const grace = spec.get('terminationGracePeriodSeconds').integer({ min: 0, fallback: 30 });
  return {
    file: root.file,
    folder: dirname(resolve(root.file)),
    ...identity,
    containers,
    volumes: spec.get('volumes').items().map(parseVolume),
    terminationGraceMs: grace * 1000,
  };
}

function refuseDoubleNames(field: Field, containers: readonly ContainerSpec[]): void {
  const names = new Set<string>();
  for (const { name } of containers) {
    if (names.has(name)) field.fail(`two containers have the name ${name}`);
    names.add(name);
  }
}
