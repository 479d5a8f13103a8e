import type { DuplicateFields } from '../cluster/decode.js';
import { ApiError, ApiserverError, messageOf } from '../errors.js';
import { isDeeperThan } from '../resources/shape.js';
import {
  findDuplicateYamlKeys,
  findFault,
  MAX_DEPTH,
  parseYamlText,
  yamlValueOf,
} from '../yaml.js';
import { describeDuplicates, findDuplicateKeys } from './duplicate-fields.js';
import { parseProtobuf, PROTOBUF } from './protobuf.js';

/** Source: kube-apiserver MaxRequestBodyBytes. */
export const MAX_BODY_BYTES = 3 * 1024 * 1024;

/** Its parser needs a second for some texts of this length, and nothing else is answered meanwhile. */
const MAX_YAML_BYTES = 64 * 1024;

/** The value of a request body; undefined for an empty one. */
export interface Body {
  readonly value: unknown;
  /** The fields that its text has twice; the last one of each is in the value. */
  readonly duplicates?: DuplicateFields | undefined;
}

/** `keys` are the offsets of the duplicate keys. */
function describeYamlDuplicates(
  text: string,
  keys: readonly number[],
  lineAt: (offset: number) => number,
): DuplicateFields | undefined {
  if (keys.length === 0) return undefined;
  const warnings = keys.map((offset) => {
    const [, key = '', gap = ''] =
      /^("(?:[^"\\]|\\.)*"|'[^']*'|[^:\s]+)\s*:(\s*)/.exec(text.slice(offset)) ?? [];
    // The line of the value, which may be a later one.
    const line = lineAt(offset) + gap.split('\n').length - 1;
    return `line ${line}: key "${key.replace(/^["']|["']$/g, '')}" already set in map`;
  });
  return { warnings, refusal: `yaml: unmarshal errors:\n  ${warnings.join('\n  ')}` };
}

function parseYaml(text: string): Body {
  const { documents, lineAt } = parseYamlText(text);
  const [document, second] = documents;
  if (!document) return { value: null };
  const fault = findFault(document);
  if (fault) throw new ApiserverError('yaml', `line ${lineAt(fault.offset)}: ${fault.message}`);
  if (second) throw new ApiserverError('yaml', 'more than one document');
  const duplicates = describeYamlDuplicates(text, findDuplicateYamlKeys(document), lineAt);
  return { value: yamlValueOf(document), duplicates };
}

function parseJson(text: string, isJsonPatch: boolean): Body {
  const value: unknown = JSON.parse(text);
  // What follows is recursive.
  if (isDeeperThan(value, MAX_DEPTH)) {
    throw new ApiserverError('json', `nested deeper than ${MAX_DEPTH}`);
  }
  const prefix = isJsonPatch ? 'json patch ' : '';
  return { value, duplicates: describeDuplicates(findDuplicateKeys(text), prefix) };
}

/** The media type of a `Content-Type`, in lower case and without parameters. */
export function mediaTypeOf(header: string | undefined): string {
  return (header ?? '').split(';')[0]!.trim().toLowerCase();
}

/**
 * Parses a request body. Throws a 400 when it cannot be parsed, a 413 for a long YAML and a 415 when it
 * is neither JSON, YAML nor protobuf.
 */
export function parseBody(body: unknown, contentType: string | undefined): Body {
  if (!Buffer.isBuffer(body) || body.length === 0) return { value: undefined };
  const mediaType = mediaTypeOf(contentType);
  if (mediaType === PROTOBUF) return { value: parseProtobuf(body) };
  const isYaml = /[/+]yaml$/.test(mediaType);
  if (mediaType !== '' && !isYaml && !/[/+]json$/.test(mediaType)) {
    throw new ApiError(
      'UnsupportedMediaType',
      `the body of the request was in an unknown format (${mediaType}) - accepted media types include: application/json, application/yaml, ${PROTOBUF}`,
    );
  }
  if (isYaml && body.length > MAX_YAML_BYTES) {
    const why = `a YAML body has at most ${MAX_YAML_BYTES} bytes: send JSON, as kubectl does`;
    throw new ApiError('RequestEntityTooLarge', `Request entity too large: ${why}`);
  }
  try {
    const text = body.toString('utf8');
    return isYaml ? parseYaml(text) : parseJson(text, mediaType === 'application/json-patch+json');
  } catch (error) {
    throw new ApiError('BadRequest', `error decoding the request body: ${messageOf(error)}`);
  }
}
