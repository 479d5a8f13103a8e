import {
  encodeReply,
  type ReplyRecord,
  type Response,
  ScriptedNameServer,
} from '@kube-dns/testkit';

/** What a server of a comparison answers with: AA is set unless given. */
export type ComparedReply = Response;

/** The reaction to a query: silence, or the end of its connection in place of a reply. */
export type ComparedReaction = ComparedReply | 'end' | undefined;

export interface ComparedQuestion {
  readonly name: string;
  readonly type: string;
  readonly isOverTcp: boolean;
}

/** Of records that do not name one. */
const TTL_SECONDS = 30;

/** A scripted name server, with the address as `kube-dns compare` takes it. */
export class ScriptedServer {
  readonly #server: ScriptedNameServer;

  private constructor(server: ScriptedNameServer) {
    this.#server = server;
  }

  static async start(
    script: (question: ComparedQuestion) => ComparedReaction | Promise<ComparedReaction>,
  ): Promise<ScriptedServer> {
    // The comparison makes names that do not exist of as many digits as a probe for a loop has.
    const options = { seesProbes: true };
    const server = await ScriptedNameServer.start(async ({ query, question, protocol, socket }) => {
      const reply = await script({ ...question, isOverTcp: protocol === 'tcp' });
      if (reply === 'end') socket?.end();
      return reply === undefined || reply === 'end' ? null : [replyTo(query, reply)];
    }, options);
    return new ScriptedServer(server);
  }

  get address(): string {
    return `127.0.0.1:${this.#server.port}`;
  }

  /** How many queries arrived. */
  get asked(): number {
    return this.#server.requests.length;
  }

  close(): Promise<void> {
    return this.#server.close();
  }
}

/** The message that answers a query. */
export function replyTo(query: Buffer, response: ComparedReply): Buffer {
  return encodeReply(query, {
    isAuthoritative: true,
    ...response,
    answers: withTtl(response.answers),
    authorities: withTtl(response.authorities),
    additionals: withTtl(response.additionals),
  });
}

function withTtl(records: readonly ReplyRecord[] = []): ReplyRecord[] {
  return records.map((record) => ({ ttl: TTL_SECONDS, ...record }));
}
