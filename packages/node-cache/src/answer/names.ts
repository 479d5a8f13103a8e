import { decodeName, encodeName, WireError } from '@kube-dns/wire';

/** A name in wire form as text, with its last dot. */
export function nameText(name: Uint8Array, at?: number): string {
  return withDot(decodeName(name, at));
}

/** A name without its last dot, with it. */
export function withDot(name: string): string {
  return name === '.' ? name : `${name}.`;
}

/** In wire form; undefined for what is no name. */
export function wireName(text: string): Uint8Array | undefined {
  try {
    return encodeName(text);
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
}
