import { CodedError, systemReason } from '@kube-dns/base';

const HINTS: Readonly<Record<string, string>> = {
  EACCES: ' (ports below 1024 need NET_BIND_SERVICE)',
  ENOTSUP: ' (this system cannot share a port, SO_REUSEPORT)',
};

/** What both `--reuse-port` and the system ask of the processes on one port. */
const REUSE_HINT = ' (each process on this port needs --reuse-port, and the same user)';

/** A port that could not be bound; `reusesPort` is that of the `ListenOptions`. */
export class ListenError extends CodedError {
  constructor(
    protocol: string,
    address: string,
    port: number,
    cause: unknown,
    reusesPort: boolean,
  ) {
    // Without a host, as Go's `:53`: every address.
    const host = address.includes(':') ? `[${address}]` : address;
    const { code = '' } = cause as NodeJS.ErrnoException;
    const hint = code === 'EADDRINUSE' && reusesPort ? REUSE_HINT : (HINTS[code] ?? '');
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
  | 'timeout'
  | 'refused'
  | 'unreachable'
  | 'malformed'
  | 'closed'
  /** An encrypted server whose certificate must not be used, or that has no other fault that is known. */
  | 'certificate'
  | 'handshake';

/** An exchange with an upstream server that failed. */
export class ExchangeError extends CodedError<ExchangeErrorCode> {}
