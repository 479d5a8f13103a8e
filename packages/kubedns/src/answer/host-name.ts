import { MAX_NAME_BYTES } from '@kube-dns/wire';
import { writeHashLabel } from '../zone/endpoint-name.js';
import type { EndpointView } from '../zone/endpoint-view.js';
import type { ZoneService } from '../zone/zone-service.js';
import { WHOLE_SERVICE } from './service-question.js';

/** Maximum bytes of a label, its length byte included. */
export const MAX_LABEL_BYTES = 64;

/** Writes the name of a host, or of its service; returns its length, 0 when it is too long. */
export function writeHostName(
  service: ZoneService,
  host: number,
  out: Uint8Array,
  at: number,
): number {
  const { name } = service;
  const label = host === WHOLE_SERVICE ? 0 : writeLabel(service.view, host, out, at);
  if (label + name.length > MAX_NAME_BYTES) return 0;
  for (let i = 0; i < name.length; i++) out[at + label + i] = name[i]!;
  return label + name.length;
}

function writeLabel(view: EndpointView, host: number, out: Uint8Array, at: number): number {
  const text = view.labelOf(host);
  return text === '' ? writeHashLabel(view.hashOf(host), out, at) : writeTextLabel(text, out, at);
}

/** Writes a label, its length byte first; returns the bytes written. */
export function writeTextLabel(text: string, out: Uint8Array, at: number): number {
  out[at] = text.length;
  for (let i = 0; i < text.length; i++) out[at + 1 + i] = text.charCodeAt(i);
  return text.length + 1;
}
