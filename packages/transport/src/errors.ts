import { CodedError, systemReason } from '@kube-dns/wire';

const HINTS: Readonly<Record<string, string>> = {
  EACCES: ' (ports below 1024 need NET_BIND_SERVICE)',
  ENOTSUP: ' (this system cannot share a port, SO_REUSEPORT)',
};

/** A port that could not be bound. */
export class ListenError extends CodedError {
  constructor(protocol: string, address: string, port: number, cause: unknown) {
    const host = address.includes(':') ? `[${address}]` : address;
    const { code = '' } = cause as NodeJS.ErrnoException;
    const hint = HINTS[code] ?? '';
    const message = `cannot listen on ${host}:${port} over ${protocol}: ${systemReason(cause)}${hint}`;
    super('listen-failed', message, { cause });
  }
}

/** A UDP engine that cannot be used here; `reason` continues the sentence after its name. */
export class EngineError extends CodedError {
  constructor(reason: string, options?: ErrorOptions) {
    super('engine-unavailable', `the batch UDP engine ${reason}`, options);
  }
}

/** Why an exchange with an upstream server had no usable reply. */
export type ExchangeErrorCode =
  'timeout' | 'refused' | 'unreachable' | 'malformed' | 'closed' | 'canceled';

/** An exchange with an upstream server that failed. */
export class ExchangeError extends CodedError<ExchangeErrorCode> {}
