import { CorefileError } from '@kube-dns/node-cache/corefile';
import { InputError } from './input-error.js';

/** Reads a Corefile that is the input of a conversion: its CorefileError becomes an InputError. */
export function asInput<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof CorefileError) throw new InputError(error.message, { cause: error });
    throw error;
  }
}
