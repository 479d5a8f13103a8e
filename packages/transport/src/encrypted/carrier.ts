/** Receives what comes over one open connection. */
export interface CarrierOwner {
  /** A message of the server; its ID says which query it may answer. It belongs to the owner. */
  onMessage(message: Buffer): void;
  /** The server is there. */
  onAlive(): void;
  /** The server does not take this query on this connection; another may. */
  onRefused(id: number): void;
  /** The server cannot answer this query: a code for the text of the failure. */
  onRejected(id: number, code: string): void;
  /** The server takes no more queries here; it answers those that it has. */
  onGoAway(): void;
  /** The connection is over, for the reason with this code. */
  onEnd(code: string): void;
}

/** How queries and replies travel over one open connection: DNS over TLS, HTTPS or TCP. */
export interface Carrier {
  /** How many queries may be under way. */
  readonly limit: number;
  /** Sends a query under an ID that no other query under way has; the message may change afterwards. */
  send(id: number, query: Buffer): void;
  /** Takes what has arrived, where the socket is not its own to read. */
  push?(bytes: Buffer, length: number): void;
  /** Waits for no reply to this query any more. */
  cancel(id: number): void;
  /** Makes the server say something. */
  ping(): void;
  /** Ends the connection in order; the owner is not called afterwards. */
  close(): void;
}
