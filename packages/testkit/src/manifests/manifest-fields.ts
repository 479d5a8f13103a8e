import * as models from '@kubernetes/client-node';

interface Attribute {
  readonly baseName: string;
  readonly type: string;
}

/** The fields of a type of the API, as the client library of Kubernetes has them from its schema. */
function attributesOf(type: string): readonly Attribute[] | undefined {
  const model: unknown = Reflect.get(models, type);
  if (typeof model !== 'function' || !('getAttributeTypeMap' in model)) return undefined;
  return (model.getAttributeTypeMap as () => readonly Attribute[])();
}

/** Groups whose kinds are no part of Kubernetes; kustomize itself refuses fields that it does not know. */
const CUSTOM_GROUPS = ['monitoring.coreos.com', 'kustomize.config.k8s.io', 'cilium.io'];

/**
 * Every field of an object that its kind does not have or that has the wrong type, with its path.
 * Kinds of custom groups have no faults but in their metadata.
 */
export function fieldFaults(object: unknown): string[] {
  const { apiVersion = '', kind = '' } = object as { apiVersion?: string; kind?: string };
  if (CUSTOM_GROUPS.includes(apiVersion.split('/', 1)[0] ?? '')) {
    const { metadata } = object as { metadata?: unknown };
    return metadata === undefined ? [] : faultsOf(metadata, 'V1ObjectMeta', 'metadata');
  }
  const version = apiVersion.split('/').at(-1) ?? '';
  const type = `${version.charAt(0).toUpperCase()}${version.slice(1)}${kind}`;
  if (attributesOf(type) === undefined) return [`no kind ${kind} in ${apiVersion}`];
  return faultsOf(object, type, kind);
}

function faultsOf(value: unknown, type: string, path: string): string[] {
  const wrong = [`${path}: ${JSON.stringify(value)} is no ${type}`];
  const list = /^Array<(.*)>$/.exec(type)?.[1];
  if (list !== undefined) {
    if (!Array.isArray(value)) return wrong;
    return value.flatMap((item, i) => faultsOf(item, list, `${path}[${i}]`));
  }
  const map = /^\{ \[key: string\]: (.*); \}$/.exec(type)?.[1];
  const attributes = attributesOf(type);
  if (map === undefined && attributes === undefined) return isPlain(value, type) ? [] : wrong;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return wrong;
  return Object.entries(value).flatMap(([key, item]) => {
    const field = map ?? attributes?.find((each) => each.baseName === key)?.type;
    return field === undefined
      ? [`${path}.${key} is unknown`]
      : faultsOf(item, field, `${path}.${key}`);
  });
}

function isPlain(value: unknown, type: string): boolean {
  switch (type) {
    case 'string':
    case 'boolean':
      return typeof value === type;
    case 'number':
      return Number.isInteger(value);
    case 'IntOrString':
      return typeof value === 'string' || Number.isInteger(value);
    case 'any':
    case 'object':
      return true;
    default:
      throw new Error(`a type that this check does not know: ${type}`);
  }
}
