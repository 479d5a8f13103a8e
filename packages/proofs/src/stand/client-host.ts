import { monotonicMs } from '@kube-dns/testkit';
import { type Seen, SteadyClient, type SteadyQuestions } from './steady-client.js';

/** What a page said. */
export interface FetchedPage {
  /** 0 when nobody answered. */
  readonly status: number;
  readonly text: string;
}

/** The other side of a host of clients; its moments are those of `monotonicMs`. */
export interface ClientHostMethods {
  ask(questions: SteadyQuestions): Promise<void>;
  /** What was decided from the n-th question on. */
  seenFrom(count: number): readonly Seen[];
  /** As that of the steady client. */
  awaitText(name: string, text: string, limitMs: number): Promise<number>;
  /** As that of the steady client. */
  finish(): Promise<readonly Seen[]>;
  /** Messages that answered no question that waits. */
  strays(): number;
  page(url: string): Promise<FetchedPage>;
}

/** Longer than a page takes where every core is busy with others. */
const PAGE_LIMIT_MS = 10_000;

/** A steady client, and what looks at the pages of other hosts, on a host of their own. */
export class ClientHost implements ClientHostMethods {
  #client: SteadyClient | undefined;
  readonly #aheadMs = monotonicMs() - performance.now();

  async ask(questions: SteadyQuestions): Promise<void> {
    this.#client = await SteadyClient.start(questions);
  }

  seenFrom(count: number): readonly Seen[] {
    return this.#shared(this.#steady.seen.slice(count));
  }

  async awaitText(name: string, text: string, limitMs: number): Promise<number> {
    return (await this.#steady.awaitText(name, text, limitMs)) + this.#aheadMs;
  }

  async finish(): Promise<readonly Seen[]> {
    return this.#shared(await this.#steady.finish());
  }

  strays(): number {
    return this.#steady.strays;
  }

  async page(url: string): Promise<FetchedPage> {
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(PAGE_LIMIT_MS) });
      return { status: response.status, text: await response.text() };
    } catch {
      // nobody listens, or answers
      return { status: 0, text: '' };
    }
  }

  get #steady(): SteadyClient {
    if (this.#client === undefined) throw new Error('the client asks nothing yet');
    return this.#client;
  }

  #shared(seen: readonly Seen[]): readonly Seen[] {
    return seen.map((each) => ({ ...each, sentMs: each.sentMs + this.#aheadMs }));
  }
}
