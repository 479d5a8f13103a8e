/**
 * A client's connection, on which the server sends when it has something to say: a session of DNS Stateful
 * Operations (RFC 8490).
 */
export interface Session {
  /** The client's address as text, and its port. */
  readonly address: string;
  readonly port: number;
  /** Bytes that were sent to the client and that it has not read yet. */
  readonly unsentBytes: number;
  /** Sends a message; does nothing when the connection is closed. */
  push(message: Uint8Array): void;
  /** The connection stays open without traffic, until its owner closes it; it still counts as one of its client. */
  stay(): void;
  /** Closes the connection at once. */
  close(): void;
  onClose(listener: () => void): void;
}

/** Serves the sessions of a listener. */
export interface SessionService {
  /**
   * Takes a message with the opcode DSO, which is valid during the call. All messages of one connection come with
   * the same session.
   */
  receive(message: Uint8Array, session: Session): void;
}
