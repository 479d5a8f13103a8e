import type { DuplicateFields } from '../cluster/registry.js';
import { ApiError, ApiserverError, messageOf } from '../errors.js';
import { isDeeperThan } from '../resources/shape.js';
import {
  findDuplicateYamlKeys,
  findFault,
  MAX_DEPTH,
  parseYamlText,
  yamlValueOf,
} from '../yaml.js';
import { parseProtobuf, PROTOBUF } from './protobuf.js';

/** An object or a list that is not closed yet. */
interface Level {
  /** The keys so far; undefined in a list. */
  readonly keys: Set<string> | undefined;
  /** The key or the index of the present value. */
  at: string | number;
  expectsKey: boolean;
}

function open(isObject: boolean): Level {
  return { keys: isObject ? new Set() : undefined, at: 0, expectsKey: isObject };
}

/** The index after the text that begins at `start`. */
function endOfText(json: string, start: number): number {
  let end = start;
  do {
    end = json.indexOf('"', end + 1);
    let first = end;
    while (json[first - 1] === '\\') first -= 1;
    // An odd number of backslashes: the quotation mark is part of the text.
    if ((end - first) % 2 === 0) return end + 1;
  } while (end >= 0);
  return json.length;
}

function pathOf(levels: readonly Level[]): string {
  const steps = levels.map(({ at }) => (typeof at === 'number' ? `[${at}]` : `.${at}`));
  return steps.join('').replace(/^\./, '');
}

/** The paths of the keys that an object of a valid JSON text has twice, in the order of the text. */
export function findDuplicateKeys(json: string): string[] {
  const found = new Set<string>();
  const levels: Level[] = [];
  let level: Level | undefined;
  for (let i = 0; i < json.length; i += 1) {
    const character = json.charAt(i);
    switch (character) {
      case '{':
      case '[':
        level = open(character === '{');
        levels.push(level);
        break;
      case '}':
      case ']':
        levels.pop();
        level = levels.at(-1);
        break;
      case ',':
        if (level?.keys) level.expectsKey = true;
        else if (level) level.at = Number(level.at) + 1;
        break;
      case '"': {
        const end = endOfText(json, i);
        if (level?.keys && level.expectsKey) {
          const key = JSON.parse(json.slice(i, end)) as string;
          level.at = key;
          level.expectsKey = false;
          if (level.keys.has(key)) found.add(pathOf(levels));
          level.keys.add(key);
        }
        i = end - 1;
      }
    }
  }
  return [...found];
}

/** The warnings about fields that a JSON text has twice; undefined when it has none. */
function describeDuplicates(paths: readonly string[], prefix = ''): DuplicateFields | undefined {
  if (paths.length === 0) return undefined;
  const warnings = paths.map((path) => `${prefix}duplicate field ${JSON.stringify(path)}`);
  return { warnings, refusal: warnings.join(', ') };
}

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
