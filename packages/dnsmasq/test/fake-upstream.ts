import { ScriptedNameServer } from '@kube-dns/testkit';
import { decodeName, type Query } from '@kube-dns/wire';
import { addressRecords, readQuery, type Response, responseTo } from '@kube-dns/resolver/testing';

/** A query that reached the upstream. */
export interface Asked {
  readonly name: string;
  readonly type: number;
  readonly id: number;
  readonly protocol: 'udp' | 'tcp';
  readonly sourcePort: number;
}

/** A response, or messages to send back in order; null is silence. */
export type Reply = Response | readonly Buffer[] | null;
/** Returns the reply to a query, perhaps later. */
export type Script = (query: Query, asked: Asked) => Reply | Promise<Reply>;

/** A script that answers when it is released. */
export function held(address: string): { script: Script; release: () => void } {
  const releases: (() => void)[] = [];
  return {
    script: async () => {
      await new Promise<void>((resolve) => releases.push(resolve));
      return { answers: addressRecords(30, address) };
    },
    release: () => {
      for (const release of releases.splice(0)) release();
    },
  };
}

/** The first label of a probe for a loop. */
const LOOP_LABEL = /^[0-9a-f]{16}\b/;

/**
 * A name server on a free port of 127.0.0.1 that answers by a script and records the queries it received. Probes for a
 * loop get no reply: clients here have the address of the server, and so are in doubt when they ask the same.
 */
export class FakeUpstream {
  readonly asked: Asked[] = [];
  script: Script;
  readonly #server: ScriptedNameServer;

  private constructor(script: Script, server: ScriptedNameServer) {
    this.script = script;
    this.#server = server;
    server.script = ({ query, protocol, peer }) => this.#reply(query, protocol, peer.port);
  }

  static async start(script: Script): Promise<FakeUpstream> {
    return new FakeUpstream(script, await ScriptedNameServer.start(() => null));
  }

  get port(): number {
    return this.#server.port;
  }

  /** As `--server` has it. */
  get text(): string {
    return this.#server.text;
  }

  /** The names that were asked for, in order. */
  get names(): string[] {
    return this.asked.map(({ name }) => name);
  }

  /**
   * The same, each once. A server that takes long to reply, as all do on a busy machine, is probed with a question that it
   * has answered: how often clients cause one is in the statistics of dnsmasq.
   */
  get differentNames(): string[] {
    return [...new Set(this.names)];
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  async #reply(
    message: Buffer,
    protocol: Asked['protocol'],
    sourcePort: number,
  ): Promise<readonly Buffer[]> {
    const query = readQuery(message, protocol === 'tcp');
    const name = decodeName(query.name);
    if (LOOP_LABEL.test(name)) return [];
    const asked = { name, type: query.type, id: query.id, protocol, sourcePort };
    this.asked.push(asked);
    const reply = await this.script(query, asked);
    if (reply === null) return [];
    return isMessages(reply) ? reply : [responseTo(query, reply)];
  }
}

function isMessages(reply: Response | readonly Buffer[]): reply is readonly Buffer[] {
  return Array.isArray(reply);
}
