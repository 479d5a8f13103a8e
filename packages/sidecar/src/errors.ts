import { CodedError } from '@kube-dns/base';

/** A probe or a statistics query without a usable reply. */
export class QueryError extends CodedError {
  constructor(message: string, options?: ErrorOptions) {
    super('query', message, options);
  }
}
