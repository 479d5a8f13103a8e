/** A listening TCP socket and the connections that it has accepted; their bytes move as its engine does. */
export interface TcpServer {
  /**
   * Binds, as `ListenOptions.address` says, and starts to accept; rejects with the system's error. `reusesPort` is that of a
   * `DatagramSocket`.
   */
  open(address: string, port: number, reusesPort: boolean): Promise<void>;
  /** Accepts what has connected already, as far as the engine can, and nothing afterwards; the connections stay open. */
  stopAccepting(): void;
  /** Resolves when it listens no more; its connections must be destroyed before. May be called twice. */
  close(): Promise<void>;
}

/** Gets the connections of a server. */
export interface TcpServerOwner {
  /** A client has connected. */
  accept(socket: TcpSocket): void;
  /** The system could not accept a connection, for want of descriptors or memory. */
  onAcceptFailure(): void;
  /** A turn of the event loop begins for the connections, of an engine that says so: then of all turns in which something arrives. */
  onTurn(): void;
  /** Whether something was begun since the turn began that the event loop, and nothing that arrives, goes on with. */
  needsLoop(): boolean;
}

/** The connection of a client. Nothing that is called of it calls its owner before it returns, except `end`. */
export interface TcpSocket {
  /** The client's address as text, IPv4 also on a socket of both families. */
  readonly address: string;
  readonly port: number;
  /** Bytes that were sent and that the system has not taken yet. */
  readonly unsentBytes: number;
  /** So many of them that `onDrain` is called when the system has taken all. */
  readonly needsDrain: boolean;
  /** Neither `end` nor `destroy` was called, and it has not failed. */
  readonly isWritable: boolean;
  /** It has been destroyed, or has failed or ended on both sides. */
  readonly isClosed: boolean;
  /** Starts to receive. */
  start(owner: TcpSocketOwner): void;
  /** Sends a copy of the message with its length in front, at the next `flush` or before. */
  send(message: Uint8Array, length: number): void;
  /** Sends frames that must not change any more: they are not copied. */
  write(frames: Uint8Array): void;
  /** What was sent leaves now, in one system call where possible. */
  flush(): void;
  /** `onData` is not called until `resume`. */
  pause(): void;
  resume(): void;
  /** Ends this side when the system has taken all that was sent; the client's may stay open. */
  end(): void;
  /** Closes the connection; what the system has not taken is dropped. May be called twice. */
  destroy(): void;
  /** As `destroy`; the client sees that it is not a regular end (RST), at once. */
  reset(): void;
}

/** Gets what happens on a connection. */
export interface TcpSocketOwner {
  /** The first `length` bytes arrived; they may change after the call. */
  onData(bytes: Buffer, length: number): void;
  /** See `needsDrain`. */
  onDrain(): void;
  /** The client has ended its side. */
  onEnd(): void;
  /** After `end`: the system has taken all that was sent. */
  onFinish(): void;
  /** The connection is closed; called once, last. */
  onClosed(): void;
}
