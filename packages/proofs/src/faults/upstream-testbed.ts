import { becomesTrue, type Dnsmasq, MeasureError } from '@kube-dns/testkit';
import { type Behavior, expectedAddress, FakeUpstream } from '../fixtures/fake-upstream.js';
import { startDnsmasq } from '../fixtures/pod-containers.js';
import { type Seen, SteadyClient, type Tally } from '../fixtures/steady-client.js';
import { QuestionKinds, waitFor } from './claims.js';
import { counted, type FaultContext, questionRate } from './fault.js';

/** First byte of the addresses that the upstreams give. */
export const NETWORK = 10;
const RATE_PER_SECOND = 50;
/** Every second question is one of these, which are in the cache. */
const CACHED = Array.from({ length: 10 }, (_, i) => `cached-${i}.example`);
/** More than any row asks for. */
const FRESH_COUNT = 2_000;
/** Questions that upstreams answer: cached and new names in turn. */
export const NAMES: readonly string[] = Array.from({ length: FRESH_COUNT }, (_, i) => [
  CACHED[i % CACHED.length]!,
  `fresh-${i}.example`,
]).flat();
const WARM_LIMIT_MS = 60_000;
/** A failure is counted after a second of silence; dnsmasq may also ask another one, then nothing comes. */
const COUNTED_LIMIT_MS = 3_000;
/** On a loaded machine an answer is late, not lost. */
const CLIENT_TIMEOUT_MS = 10_000;
const STEP_MS = 20;
/** After this many questions dnsmasq has chosen its upstream. */
const SETTLED_AFTER = 60;

/** Whether an answer is the one that honest upstreams give. */
export function isRight({ name, text }: Seen): boolean {
  return text === expectedAddress(name, NETWORK);
}

/** Whether a question was about a name that is in the cache. */
export function isCached({ name }: Seen): boolean {
  return name.startsWith('cached-');
}

/** A dnsmasq in front of upstreams that answer every name, and a client that expects these answers. */
export class UpstreamTestbed {
  readonly upstreams: readonly FakeUpstream[];
  readonly dnsmasq: Dnsmasq;
  readonly #client: SteadyClient;
  readonly #context: FaultContext;

  private constructor(
    context: FaultContext,
    upstreams: readonly FakeUpstream[],
    dnsmasq: Dnsmasq,
    client: SteadyClient,
  ) {
    this.#context = context;
    this.upstreams = upstreams;
    this.dnsmasq = dnsmasq;
    this.#client = client;
  }

  /** Starts it all, and waits until all is well and some names are in the cache. */
  static async start(context: FaultContext, count: number): Promise<UpstreamTestbed> {
    const { node, nodeFlags, owned } = context;
    const upstreams: FakeUpstream[] = [];
    for (let i = 0; i < count; i++) {
      upstreams.push(owned.add(await FakeUpstream.start({ network: NETWORK })));
    }
    const args = ['--cache-size=1000', ...upstreams.map(({ text }) => `--server=${text}`)];
    const dnsmasq = owned.add(await startDnsmasq({ node, nodeFlags, args }));
    await dnsmasq.ready();
    const questions = {
      port: dnsmasq.ports.dns,
      names: NAMES,
      ratePerSecond: questionRate(context, RATE_PER_SECOND),
      timeoutMs: CLIENT_TIMEOUT_MS,
      pages: [`http://127.0.0.1:${dnsmasq.ports.metrics}`],
    };
    const client = owned.add(await SteadyClient.start(questions, context.signs));
    const isWarm = () =>
      client.seen.length >= SETTLED_AFTER && client.seen.slice(-20).every(isRight);
    await waitFor('right answers before the fault', isWarm);
    return new UpstreamTestbed(context, upstreams, dnsmasq, client);
  }

  /** The upstream that questions go to at the moment. */
  async preferred(): Promise<FakeUpstream> {
    const before = this.upstreams.map(({ received }) => received);
    const sent = this.#client.seen.length;
    // Now and then all are asked: more than one question tells who is preferred.
    const hasAsked = () => this.#client.seen.length > sent + 20;
    await waitFor('answers', hasAsked);
    const counts = this.upstreams.map(({ received }, i) => received - before[i]!);
    return this.upstreams[counts.indexOf(Math.max(...counts))]!;
  }

  setBehavior(behavior: Behavior): void {
    for (const upstream of this.upstreams) upstream.behavior = behavior;
  }

  /** What a metric has once it is more than 0, or when that does not come. */
  counted(metric: string, labels: Readonly<Record<string, string>>): Promise<number> {
    return counted(this.dnsmasq, metric, labels, COUNTED_LIMIT_MS);
  }

  /** Waits for the result of some question; the claims say so where it does not come. */
  async waitForSeen(isIt: (seen: Seen) => boolean): Promise<void> {
    const isThere = () => this.#client.seen.some(isIt);
    await becomesTrue(isThere, { limitMs: WARM_LIMIT_MS, stepMs: STEP_MS });
  }

  /** Sends no more, and returns what became of the questions from a moment on. */
  async seenSince(sinceMs: number): Promise<readonly Seen[]> {
    const seen = await this.#client.finish();
    return seen.filter(({ sentMs }) => sentMs >= sinceMs);
  }

  /** Waits until a name that is not in the cache was asked for after a moment, and answered right. */
  async rightAgain(sinceMs: number, limitMs: number): Promise<void> {
    const isFine = () =>
      this.#client.seen.some((seen) => seen.sentMs >= sinceMs && !isCached(seen) && isRight(seen));
    if (await becomesTrue(isFine, { limitMs, stepMs: STEP_MS })) return;
    throw new MeasureError(`no right answer within ${limitMs / 1_000} s after all is well`);
  }

  /** As the function of that name does. */
  claimHonesty(seen: readonly Seen[], lateMs: number): { readonly fresh: Tally } {
    return claimHonesty(this.#context, seen, lateMs);
  }
}

/** Claims what holds of every row: cached names are answered as before, and no client receives a wrong answer. */
export function claimHonesty(
  claims: Pick<FaultContext, 'claim' | 'claimQuiet'>,
  seen: readonly Seen[],
  lateMs: number,
): { readonly fresh: Tally } {
  const kindOf = (each: Seen) => (isCached(each) ? 'names in the cache' : 'others');
  const kinds = new QuestionKinds(kindOf, isRight, lateMs);
  const fresh = kinds.tally(seen, 'others');
  for (const { name, text } of fresh.wrong.slice(0, 3)) {
    claims.claim(false, `${name} was answered with ${text}`);
  }
  kinds.claimRight(claims, seen, ['names in the cache']);
  return { fresh };
}
