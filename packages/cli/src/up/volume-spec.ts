import type { Field } from './field.js';

/** A volume of the pod. One that this machine cannot provide is refused only when it is mounted. */
export type VolumeSpec =
  | {
      readonly kind: 'host';
      readonly name: string;
      readonly path: string;
      readonly create: boolean;
    }
  | { readonly kind: 'empty'; readonly name: string }
  | { readonly kind: 'config-map'; readonly name: string; readonly configMap: string }
  | { readonly kind: 'unsupported'; readonly name: string; readonly reason: string };

/** Reads one item of `spec.volumes`; throws a StartError when it is malformed. */
export function parseVolume(field: Field): VolumeSpec {
  const name = field.get('name').string();
  const kind = field.keys().find((key) => key !== 'name') ?? 'emptyDir';
  const source = field.get(kind);
  switch (kind) {
    case 'hostPath': {
      const create = source.get('type').string('') === 'DirectoryOrCreate';
      return { kind: 'host', name, path: source.get('path').string(), create };
    }
    case 'emptyDir':
      return { kind: 'empty', name };
    case 'configMap':
    case 'secret': {
      if (source.get('optional').boolean(false)) {
        // The local API server has no secrets for anyone: the mount is an empty folder.
        if (kind === 'secret') return { kind: 'empty', name };
        return { kind: 'config-map', name, configMap: source.get('name').string() };
      }
      const reason = `its ${kind} is not optional, and there is no cluster to take it from`;
      return { kind: 'unsupported', name, reason };
    }
    default:
      return { kind: 'unsupported', name, reason: `${kind} is not supported on this machine` };
  }
}
