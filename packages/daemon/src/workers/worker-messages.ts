/** What the leader tells a worker; they come in this order. */
export type Order<Change, Stamp> =
  /** Changes in their order, and what holds after them. */
  | { readonly kind: 'batch'; readonly changes: readonly Change[]; readonly stamp: Stamp }
  /** Everything so far was told: serve. */
  | { readonly kind: 'serve' }
  /** What is no change of what is known. */
  | { readonly kind: 'said'; readonly message: unknown }
  | { readonly kind: 'close' };

/** What a worker tells the leader. */
export type Report<Figures> =
  /** The oldest batch that was not reported yet is in force. */
  | { readonly kind: 'took' }
  | { readonly kind: 'serving' }
  /** The sockets that have to be closed when the thread does not do so. */
  | { readonly kind: 'descriptors'; readonly descriptors: readonly number[] }
  /** It cannot serve, and ends. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'error'; readonly text: string }
  | { readonly kind: 'said'; readonly message: unknown }
  | { readonly kind: 'figures'; readonly figures: Figures };
