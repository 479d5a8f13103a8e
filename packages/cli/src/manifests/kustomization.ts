import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { StartError } from '../errors.js';
import {
  asMapping,
  draftAt,
  mappingsOf,
  parseDocuments,
  textsOf,
  valueAt,
  type Draft,
  type Mapping,
} from './objects.js';

/** The result of a kustomization. */
export interface Rendered {
  readonly objects: readonly Draft[];
  /** Objects that exist only for its replacements: `config.kubernetes.io/local-config`. */
  readonly local: readonly Mapping[];
}

const CLUSTER_KINDS = ['ClusterRole', 'ClusterRoleBinding'];

/**
 * Renders a kustomization as `kubectl kustomize` does, without kubectl: only the features that
 * manifests/kube-dns uses (resources, images, replacements, the namespace of namespaced objects). `read` returns
 * the objects of a file of its folder. Throws a StartError for a replacement without a source or target.
 */
export function renderKustomization(read: (file: string) => readonly Mapping[]): Rendered {
  const [kustomization = {}] = read('kustomization.yaml');
  const all = textsOf(kustomization.resources).flatMap(read);
  const copies = all.map((each) => structuredClone(each) as Draft);
  for (const each of mappingsOf(kustomization.replacements)) replace(copies, each);
  for (const each of copies) place(each, kustomization);
  return {
    objects: copies.filter((each) => !isLocal(each)),
    local: copies.filter(isLocal),
  };
}

/** As {@link renderKustomization}, of a folder of this machine. */
export function renderFolder(folder: string): Rendered {
  return renderKustomization((file) => {
    const path = join(folder, file);
    return mappingsOf(parseDocuments(readFileSync(path, 'utf8'), path));
  });
}

function isLocal({ metadata }: Mapping): boolean {
  return valueAt(metadata, 'annotations', 'config.kubernetes.io/local-config') === 'true';
}

function place(object: Draft, { namespace, images }: Mapping): void {
  if (!CLUSTER_KINDS.includes(String(object.kind))) {
    draftAt(object, 'metadata').namespace = namespace;
  }
  for (const subject of mappingsOf(object.subjects)) (subject as Draft).namespace = namespace;
  const containers = valueAt(object, 'spec', 'template', 'spec', 'containers');
  for (const container of mappingsOf(containers)) {
    const image = mappingsOf(images).find(({ name }) => name === container.image);
    if (image === undefined) continue;
    (container as Draft).image = `${String(image.newName)}:${String(image.newTag)}`;
  }
}

function replace(objects: readonly Draft[], { source, targets }: Mapping): void {
  const path = String(valueAt(source, 'fieldPath')).split('.');
  const [value] = valuesAt(find(objects, source), path);
  for (const target of mappingsOf(targets)) {
    const object = find(objects, target.select);
    for (const fieldPath of textsOf(target.fieldPaths)) {
      const steps = fieldPath.split('.');
      const parents = valuesAt(object, steps.slice(0, -1));
      if (parents.length === 0) throw new StartError(`kustomization: nothing at ${fieldPath}`);
      for (const parent of parents) (parent as Draft)[steps.at(-1) ?? ''] = value;
    }
  }
}

function find(objects: readonly Draft[], reference: unknown): Draft {
  const { kind, name } = asMapping(reference) ?? {};
  const found = objects.find(
    (each) => each.kind === kind && valueAt(each, 'metadata', 'name') === name,
  );
  if (found === undefined)
    throw new StartError(`kustomization: no ${String(kind)} ${String(name)}`);
  return found;
}

/** All that a path leads to: of field names, `*` for each item and `[FIELD=VALUE]` for those that have it. */
function valuesAt(root: unknown, path: readonly string[]): unknown[] {
  return path.reduce<unknown[]>(
    (values, step) => values.flatMap((each) => follow(each, step)),
    [root],
  );
}

function follow(value: unknown, step: string): unknown[] {
  const [, field = '', wanted] = /^\[(\w+)=(\w+)\]$/.exec(step) ?? [];
  if (wanted !== undefined) return mappingsOf(value).filter((item) => item[field] === wanted);
  if (step === '*') return mappingsOf(value);
  const next = valueAt(value, step);
  return next === undefined || next === null ? [] : [next];
}
