const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'address already in use',
  EACCES: 'permission denied (ports below 1024 need NET_BIND_SERVICE)',
  EADDRNOTAVAIL: 'this machine does not have the address',
};

/** A port that could not be bound. */
export class ListenError extends Error {
  readonly code = 'listen-failed';

  constructor(protocol: string, address: string, port: number, cause: unknown) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const host = address.includes(':') ? `[${address}]` : address;
    const reason = REASONS[code ?? ''] ?? message;
    super(`cannot listen on ${host}:${port} over ${protocol}: ${reason}`, { cause });
    this.name = 'ListenError';
  }
}

/** A UDP engine that cannot be used here; the message goes on from its name. */
export class EngineError extends Error {
  readonly code = 'engine-unavailable';

  constructor(reason: string, options?: ErrorOptions) {
    super(`the batch UDP engine ${reason}`, options);
    this.name = 'EngineError';
  }
}

/** Why an exchange with an upstream server brought no usable reply. */
export type ExchangeErrorCode =
  'timeout' | 'refused' | 'unreachable' | 'malformed' | 'closed' | 'canceled';

export class ExchangeError extends Error {
  readonly code: ExchangeErrorCode;

  constructor(code: ExchangeErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ExchangeError';
    this.code = code;
  }
}
