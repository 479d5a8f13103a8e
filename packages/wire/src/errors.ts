import { CodedError } from '@kube-dns/base';

/** What can be wrong with a name, a message or a key; stable, so that callers may count by it. */
export type WireErrorCode = 'bad-name' | 'bad-message' | 'bad-rdata' | 'bad-key';

/** Thrown for names, messages and keys that cannot be read or written; never on the query path. */
export class WireError extends CodedError<WireErrorCode> {}
