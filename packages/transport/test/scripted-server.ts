import { decodeName, FLAG, type Query } from '@kube-dns/wire';
import { type ReplyFields, replyTo } from './messages.js';
import { NameServer, type Request } from './name-server.js';
import { readQuery } from './questions.js';

/** What comes back for a query, perhaps later; null is silence. */
export type Script = (query: Query, request: Request) => Scripted | Promise<Scripted>;
type Scripted = ReplyFields | readonly Uint8Array[] | null;

export const says =
  (address: string): Script =>
  () => ({ addresses: [address] });
export const fails =
  (rcode: number): Script =>
  () => ({ rcode });
export const silent: Script = () => null;
/** Truncated over UDP; over TCP as the other script does. */
export const truncating =
  (overTcp: Script): Script =>
  (query, request) =>
    request.protocol === 'tcp' ? overTcp(query, request) : { flags: FLAG.TC };
/** Closes the connection of a query over TCP. */
export const hangingUp: Script = (_query, { socket }) => {
  socket?.destroy();
  return null;
};

/** A script that answers when it is told to. */
export function held(address: string): { script: Script; release: () => void } {
  const releases: (() => void)[] = [];
  return {
    script: async () => {
      await new Promise<void>((resolve) => releases.push(resolve));
      return { addresses: [address] };
    },
    release: () => {
      for (const release of releases.splice(0)) release();
    },
  };
}

/** A name server whose script can be another from one query to the next. */
export class ScriptedServer {
  script: Script;
  readonly #server: NameServer;
  readonly sourcePorts: number[] = [];

  private constructor(server: NameServer, script: Script) {
    this.#server = server;
    this.script = script;
  }

  static async start(script: Script): Promise<ScriptedServer> {
    const server = await NameServer.open((request) => scripted.#take(request));
    const scripted = new ScriptedServer(server, script);
    return scripted;
  }

  get port(): number {
    return this.#server.port;
  }

  get asked(): readonly Request[] {
    return this.#server.requests;
  }

  /** The names that were asked for, in order. */
  get names(): string[] {
    return this.asked.map(({ query }) => decodeName(readQuery(query).name));
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  #take(request: Request): void {
    if (request.protocol === 'udp') this.sourcePorts.push(this.#server.lastPeer!.port);
    void Promise.resolve(this.script(readQuery(request.query), request)).then((reply) => {
      if (reply === null) return;
      const isMessages = Array.isArray(reply);
      const messages = isMessages ? (reply as readonly Uint8Array[]) : [];
      for (const message of messages) request.send(message);
      if (!isMessages) request.send(replyTo(request.query, reply as ReplyFields));
    });
  }
}
