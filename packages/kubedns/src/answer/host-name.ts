import { MAX_NAME_BYTES } from '@kube-dns/wire';
import type { EndpointGroup } from '../watch/projections.js';
import { addressHash, writeHashLabel } from '../zone/endpoint-name.js';
import type { EndpointView } from '../zone/endpoint-view.js';
import type { ServiceIndex } from '../zone/service-index.js';
import type { ZoneService } from '../zone/zone-service.js';
import { WHOLE_SERVICE } from './service-question.js';

/** Maximum bytes of a label, its length byte included. */
export const MAX_LABEL_BYTES = 64;

/**
 * Writes the name of a host: of the service's view, or of a group, or of the service itself; returns its
 * length, 0 when it is too long.
 */
export function writeHostName(
  index: ServiceIndex,
  service: ZoneService,
  group: EndpointGroup | undefined,
  host: number,
  out: Uint8Array,
  at: number,
): number {
  let label = 0;
  if (group !== undefined) label = writeEndpointLabel(group, host, out, at);
  else if (host !== WHOLE_SERVICE) label = writeLabel(service.view, host, out, at);
  const { number } = service;
  if (label + index.nameBytesOf(number) > MAX_NAME_BYTES) return 0;
  return label + index.writeName(number, out, at + label);
}

function writeLabel(view: EndpointView, host: number, out: Uint8Array, at: number): number {
  const text = view.labelOf(host);
  return text === '' ? writeHashLabel(view.hashOf(host), out, at) : writeTextLabel(text, out, at);
}

function writeEndpointLabel(
  { size, bytes, labels }: EndpointGroup,
  index: number,
  out: Uint8Array,
  at: number,
): number {
  const text = labels?.[index] ?? '';
  if (text !== '') return writeTextLabel(text, out, at);
  return writeHashLabel(addressHash(bytes, index * size, size), out, at);
}

/** Writes a label, its length byte first; returns the bytes written. */
export function writeTextLabel(text: string, out: Uint8Array, at: number): number {
  out[at] = text.length;
  for (let i = 0; i < text.length; i++) out[at + 1 + i] = text.charCodeAt(i);
  return text.length + 1;
}
