import { CodedError } from '@kube-dns/wire';

/** A Corefile that cannot be read or is not obeyed; the message names the file, the line and the reason. */
export class CorefileError extends CodedError {
  constructor(message: string, options?: ErrorOptions) {
    super('corefile', message, options);
  }
}
