import {
  type CertificateFields,
  encodeQuery,
  EncryptedNameServer,
  type EncryptedNameServerOptions,
  type Script,
  TestAuthority,
  until,
} from '@kube-dns/testkit';
import { decodeMessage } from '@kube-dns/wire';
import type { ServerAddress } from '../src/server-address.js';
import type { ServerSockets, Unreachable } from '../src/forward/server-sockets.js';
import { type UpstreamServer, UpstreamServers } from '../src/forward/servers.js';
import { UpstreamSockets } from '../src/forward/sockets.js';
import { says } from './scripts.js';

export const ADDRESS = '127.0.0.1';
export const authority = new TestAuthority();
const GOOD = { names: [ADDRESS, 'dns.example'] };

/** What became of a query: the text of its answer, or why there is none. */
export type Result = string | Unreachable;

/** A script whose answers wait; each with the address that its name says: `n7` is 10.0.0.7. */
export class HeldAnswers {
  isHolding = true;
  #releases: (() => void)[] = [];

  readonly script: Script = (request) => {
    const answer = () => {
      for (const message of addressOfName(request) as readonly Uint8Array[]) request.send(message);
    };
    if (this.isHolding) this.#releases.push(answer);
    else answer();
    return null;
  };

  /** Answers what came so far, the newest first, and whatever comes. */
  release(): void {
    this.isHolding = false;
    for (const release of this.#releases.splice(0).reverse()) release();
  }
}

/** Answers `n7` with 10.0.0.7. */
export const addressOfName: Script = (request) => {
  const number = Number(/^n(\d+)/i.exec(request.question.name)?.[1] ?? 0);
  return says(`10.0.${number >> 8}.${number & 0xff}`)(request);
};

/** Closes each connection after so many answers; what else is there has none. */
export function closingAfter(most: number): Script {
  const answered = new WeakMap<object, number>();
  return (request) => {
    const count = (answered.get(request.socket!) ?? 0) + 1;
    answered.set(request.socket!, count);
    if (count > most) return null;
    if (count === most) setImmediate(() => request.socket!.end());
    return addressOfName(request);
  };
}

/** What so many clients get who ask for `n0`, `n1` and so on, each one question after the other. */
export async function askInTurn(sockets: ServerSockets, count: number, clients: number) {
  const results: (Result | undefined)[] = [];
  let next = 0;
  const client = async () => {
    while (next < count) {
      const number = next++;
      results[number] = (await askMany(sockets, 1, number)[0]) ?? 'not sent';
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return results;
}

const DAY_MS = 86_400_000;
/** What passes between two looks. */
const STEP_MS = 10;

/** Encrypted name servers, and the sockets to ask them; with a clock that stands still unless a test moves it. */
export class EncryptedFixture {
  readonly own: EncryptedNameServer[] = [];
  readonly failures: string[] = [];
  readonly sockets: UpstreamSockets;
  readonly servers: UpstreamServers;
  nowMs = 1_000_000;
  /** How far the calendar is ahead of that of the machine. */
  daysAhead = 0;
  readonly #protocol: 'tls' | 'https';

  constructor(
    protocol: 'tls' | 'https',
    { tlsCa }: { readonly tlsCa?: string } = { tlsCa: authority.cert },
  ) {
    this.#protocol = protocol;
    const now = () => this.nowMs;
    const wallNow = () => Date.now() + this.daysAhead * DAY_MS;
    this.sockets = new UpstreamSockets({ now, wallNow });
    const uncounted = {
      queries: 0,
      countQuery: () => undefined,
      countReply: () => undefined,
      countBadReply: () => undefined,
      countError: () => undefined,
    };
    this.servers = new UpstreamServers(
      this.sockets,
      { of: () => uncounted, retain: () => undefined },
      {
        now,
        ...(tlsCa !== undefined && { tlsCa }),
        onTlsFailure: ({ text }, why) => this.failures.push(`${text}: ${why.text}`),
      },
    );
  }

  /** A name server with a good certificate, or another. */
  async serve(
    script: Script = addressOfName,
    certificate: CertificateFields = GOOD,
    options: Partial<EncryptedNameServerOptions> = {},
  ): Promise<EncryptedNameServer> {
    const protocol = this.#protocol;
    const all = { certificate: authority.issue(certificate), protocol, ...options };
    const server = await EncryptedNameServer.start(script, all);
    this.own.push(server);
    return server;
  }

  addressOf(port: number, name = ADDRESS): ServerAddress {
    const protocol = this.#protocol;
    const path = protocol === 'https' ? '/dns-query' : '';
    return { address: ADDRESS, port, encryption: { protocol, name, path } };
  }

  at(port: number, name = ADDRESS): UpstreamServer {
    return this.servers.at(this.addressOf(port, name));
  }

  /** Moves the clock, and does what is due then. */
  wait(ms: number): void {
    this.nowMs += ms;
    this.sockets.encrypted.tick();
  }

  /** Lets time go by in small steps until there is this outcome, which it returns. */
  async passUntil<T>(outcome: Promise<T>): Promise<T> {
    let isSettled = false;
    const settle = () => (isSettled = true);
    outcome.then(settle, settle);
    await this.passUntilTrue(() => isSettled);
    return outcome;
  }

  /** As `passUntil`, for a condition; `tick` is called after each step. */
  async passUntilTrue(condition: () => boolean, tick?: () => void): Promise<void> {
    const step = () => {
      if (condition()) return true;
      this.wait(STEP_MS);
      tick?.();
      return condition();
    };
    await until(step, { stepMs: 2 });
  }

  async close(): Promise<void> {
    this.servers.close();
    this.sockets.close();
    await Promise.all(this.own.map((server) => server.close()));
  }
}

/** Sends a query with an OPT record; undefined when that is not possible. */
export function ask(
  sockets: ServerSockets,
  name: string,
  query = encodeQuery({ name, ednsBytes: 1232 }),
): Promise<Result | undefined> {
  let done: (result: Result) => void = () => undefined;
  const result = new Promise<Result>((resolve) => (done = resolve));
  const sent = sockets.send(query, {
    onReply: (_sent, reply) => {
      const { answers, rcode } = decodeMessage(reply);
      done(answers[0]?.type === 'A' ? answers[0].data : rcode);
    },
    onUnreachable: (_sent, why) => done(why!),
  });
  return sent === undefined ? Promise.resolve(undefined) : result;
}

/** Asks for `n0`, `n1` and so on. */
export function askMany(sockets: ServerSockets, count: number, from = 0) {
  return Array.from({ length: count }, (_, i) => ask(sockets, `n${from + i}`));
}

export const addressesOf = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => `10.0.${(from + i) >> 8}.${(from + i) & 0xff}`);

export const plainQuery = (name: string) => encodeQuery({ id: 0, name, type: 'A' });
