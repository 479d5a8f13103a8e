import { ApiError } from '../errors.js';
import type { KubeObject } from '../object.js';
import type { ResourceKind } from '../resources/resource-kind.js';
import { fieldSelectorOf, parseFieldTerms } from './field-selector.js';
import { parseLabelSelector } from './label-selector.js';

/** The selectors of a list or watch. */
export interface SelectorText {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** Whether an object is selected. */
export type ObjectSelector = (object: KubeObject) => boolean;

function fieldsOf(kind: ResourceKind, object: KubeObject): Readonly<Record<string, string>> {
  const { name, namespace = '' } = object.metadata;
  return {
    ...kind.selectableFields(object),
    'metadata.name': name,
    ...(kind.isNamespaced && { 'metadata.namespace': namespace }),
  };
}

/** The selectable field names: an object without content has all of them. */
function supportedFields(kind: ResourceKind): readonly string[] {
  const blank = {
    apiVersion: '',
    kind: kind.kind,
    metadata: { name: '', uid: '', resourceVersion: '', creationTimestamp: '' },
    spec: {},
    status: {},
  };
  return Object.keys(fieldsOf(kind, blank));
}

/**
 * The selector for the parameters of a list or watch. Throws a 400 when one cannot be parsed
 * or names a field that the kind cannot be selected by.
 */
export function createObjectSelector(kind: ResourceKind, text: SelectorText): ObjectSelector {
  const matchesLabels = parseLabelSelector(text.labelSelector ?? '');
  const terms = parseFieldTerms(text.fieldSelector ?? '');
  const supported = supportedFields(kind);
  for (const { field } of terms) {
    if (!supported.includes(field)) {
      throw new ApiError('BadRequest', `field label not supported: ${field}`);
    }
  }
  const matchesFields = fieldSelectorOf(terms);
  return (object) =>
    matchesLabels(object.metadata.labels ?? {}) &&
    (terms.length === 0 || matchesFields(fieldsOf(kind, object)));
}
