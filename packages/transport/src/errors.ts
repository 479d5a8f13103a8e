import { CodedError } from '@kube-dns/wire';

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'address already in use',
  EACCES: 'permission denied (ports below 1024 need NET_BIND_SERVICE)',
  EADDRNOTAVAIL: 'this machine does not have the address',
};

/** A port that could not be bound. */
export class ListenError extends CodedError {
  constructor(protocol: string, address: string, port: number, cause: unknown) {
    const { code, message: systemMessage } = cause as NodeJS.ErrnoException;
    const host = address.includes(':') ? `[${address}]` : address;
    const reason = REASONS[code ?? ''] ?? systemMessage;
    const message = `cannot listen on ${host}:${port} over ${protocol}: ${reason}`;
    super('listen-failed', message, { cause });
  }
}

/** A UDP engine that cannot be used here; the message goes on from its name. */
export class EngineError extends CodedError {
  constructor(reason: string, options?: ErrorOptions) {
    super('engine-unavailable', `the batch UDP engine ${reason}`, options);
  }
}

/** Why an exchange with an upstream server brought no usable reply. */
export type ExchangeErrorCode =
  'timeout' | 'refused' | 'unreachable' | 'malformed' | 'closed' | 'canceled';

/** An exchange with an upstream server that failed. */
export class ExchangeError extends CodedError<ExchangeErrorCode> {}
