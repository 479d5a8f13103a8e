/** What one program says about one question: JSON of `GET /explain?name=NAME&type=TYPE`. */
export interface Explanation {
  /** `kubedns`, `dnsmasq` or `node-cache`. */
  readonly program: string;
  /** The question as it was asked: the whole name with its final dot, and the type. */
  readonly question: { readonly name: string; readonly type: string };
  /** What led to the answer, in the order in which it was decided. */
  readonly steps: readonly ExplainedStep[];
  /** The answer that a client gets. */
  readonly verdict: ExplainedAnswer;
}

/** One step: a sentence for people, and the facts that it is made of. */
export interface ExplainedStep {
  /** What kind of step it is, such as `route`, `cache`, `service`, `slice`, `left-out`, `server`. */
  readonly step: string;
  readonly text: string;
  readonly [fact: string]: unknown;
}

/** An answer in presentation form (RFC 1035 section 5). */
export interface ExplainedAnswer {
  /** The name of the rcode; null where a client gets no answer. */
  readonly rcode: string | null;
  /** `aa`, `ra`, … in the order of the header. */
  readonly flags: readonly string[];
  /** `NAME TTL CLASS TYPE DATA` of each record. */
  readonly answers: readonly string[];
  readonly authorities: readonly string[];
  /** Extended DNS Errors (RFC 8914). */
  readonly ede: readonly { readonly code: number; readonly text: string }[];
  /** Where it came from: see AnswerSource. */
  readonly source: string;
  /** The server that replied; null where none was asked. */
  readonly server: string | null;
  /** How long it took, in milliseconds. */
  readonly ms: number;
}
