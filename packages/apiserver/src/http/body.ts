import { parseDocument } from 'yaml';
import { ApiError, messageOf } from '../errors.js';
import { parseProtobuf, PROTOBUF } from './protobuf.js';

/** Source: kube-apiserver MaxRequestBodyBytes. */
export const MAX_BODY_BYTES = 3 * 1024 * 1024;

/** YAML aliases can represent much more text than their length. */
const MAX_ALIASES = 100;

function parseYaml(text: string): unknown {
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error) throw error;
  return document.toJS({ maxAliasCount: MAX_ALIASES });
}

/** The media type of a `Content-Type`, in lower case and without parameters. */
export function mediaTypeOf(header: string | undefined): string {
  return (header ?? '').split(';')[0]!.trim().toLowerCase();
}

/**
 * The value of a request body, undefined for an empty one. Throws a 400 when it cannot be parsed,
 * and a 415 when it is neither JSON, YAML nor protobuf.
 */
export function parseBody(body: unknown, contentType: string | undefined): unknown {
  if (!Buffer.isBuffer(body) || body.length === 0) return undefined;
  const mediaType = mediaTypeOf(contentType);
  if (mediaType === PROTOBUF) return parseProtobuf(body);
  const isYaml = /[/+]yaml$/.test(mediaType);
  if (mediaType !== '' && !isYaml && !/[/+]json$/.test(mediaType)) {
    throw new ApiError(
      'UnsupportedMediaType',
      `the body of the request was in an unknown format (${mediaType}) - accepted media types include: application/json, application/yaml, ${PROTOBUF}`,
    );
  }
  try {
    const text = body.toString('utf8');
    return isYaml ? parseYaml(text) : (JSON.parse(text) as unknown);
  } catch (error) {
    throw new ApiError('BadRequest', `error decoding the request body: ${messageOf(error)}`);
  }
}
