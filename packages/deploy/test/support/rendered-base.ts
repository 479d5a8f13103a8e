import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { MANIFESTS, readObjects } from '../../../cli/test/support/cluster-manifests.js';
import type { KubeManifest } from '../../../cli/test/support/manifest-kinds.js';

interface Reference {
  readonly kind: string;
  readonly name: string;
}

interface Kustomization {
  readonly namespace: string;
  readonly resources: readonly string[];
  readonly images: readonly { name: string; newName: string; newTag: string }[];
  readonly replacements: readonly {
    readonly source: Reference & { readonly fieldPath: string };
    readonly targets: readonly {
      readonly select: Reference;
      readonly fieldPaths: readonly string[];
    }[];
  }[];
}

type Parent = Record<string, unknown>;

/**
 * The objects of manifests/kube-dns as `kubectl kustomize` makes them, where it may not be installed: as much of
 * kustomize as that base uses (resources, images, replacements, the namespace of namespaced objects).
 */
export function renderBase(): KubeManifest[] {
  const folder = join(MANIFESTS, 'kube-dns');
  const read = (file: string) => readFileSync(join(folder, file), 'utf8');
  const { namespace, resources, images, replacements } = parse(
    read('kustomization.yaml'),
  ) as Kustomization;
  const objects = resources.flatMap((file) => readObjects(read(file)));
  for (const { source, targets } of replacements) {
    const [value] = valuesAt(pick(objects, source), source.fieldPath.split('.'));
    for (const { select, fieldPaths } of targets) {
      for (const path of fieldPaths) replaceAt(pick(objects, select), path.split('.'), value);
    }
  }
  for (const object of objects) {
    for (const subject of valuesAt(object, ['subjects', '*']))
      Object.assign(subject as object, { namespace });
    for (const container of valuesAt(object, 'spec.template.spec.containers.*'.split('.'))) {
      const own = container as Parent;
      const image = images.find(({ name }) => name === own.image);
      if (image !== undefined) own.image = `${image.newName}:${image.newTag}`;
    }
    if (!object.kind.startsWith('Cluster')) Object.assign(object.metadata, { namespace });
  }
  return objects.filter(({ metadata }) => {
    const { annotations = {} } = metadata as { annotations?: Record<string, string> };
    return annotations['config.kubernetes.io/local-config'] !== 'true';
  });
}

function pick(objects: readonly KubeManifest[], { kind, name }: Reference): KubeManifest {
  const found = objects.find((each) => each.kind === kind && each.metadata.name === name);
  if (found === undefined) throw new Error(`no ${kind} ${name}`);
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
  if (value === undefined || value === null) return [];
  const condition = /^\[(\w+)=(\w+)\]$/.exec(step);
  if (condition !== null) {
    const [, field = '', wanted] = condition;
    return (value as Parent[]).filter((item) => item[field] === wanted);
  }
  if (step === '*') return value as unknown[];
  const next = (value as Parent)[step];
  return next === undefined ? [] : [next];
}

function replaceAt(root: unknown, path: readonly string[], value: unknown): void {
  const parents = valuesAt(root, path.slice(0, -1)) as Parent[];
  if (parents.length === 0) throw new Error(`nothing at ${path.join('.')}`);
  for (const parent of parents) parent[path.at(-1) ?? ''] = value;
}
