import { encodeReply, type Response, ScriptedNameServer } from '@kube-dns/testkit';

/** The first label of a probe for a loop: clients here have the address of the server that they ask, too. */
const LOOP_LABEL = /^[0-9a-f]{16}\b/;

/** A name server on loopback that answers by a table of questions. */
export class NameServer {
  isSilent = false;
  /** The options of an OPT record that responses have; undefined: no OPT record. */
  options: Buffer | undefined;
  readonly #responses = new Map<string, Response>();
  readonly #server: ScriptedNameServer;

  private constructor(server: ScriptedNameServer) {
    this.#server = server;
    server.script = ({ query, question: { name, type } }) => {
      if (this.isSilent) return null;
      const response = this.#responses.get(`${name.toLowerCase()} ${type}`);
      const reply = encodeReply(query, { hasNoOpt: true, ...(response ?? { rcode: 'NXDOMAIN' }) });
      return [this.options === undefined ? reply : withOpt(reply, this.options)];
    };
  }

  static async start(): Promise<NameServer> {
    return new NameServer(await ScriptedNameServer.start(() => null));
  }

  /** Sets the response to a question, `name TYPE` with the name in lower case; NXDOMAIN otherwise. */
  respond(question: string, response: Response): void {
    this.#responses.set(question, response);
  }

  /** The questions in the order of their arrival, `name TYPE` with the name's case. */
  get asked(): string[] {
    return this.#questions().map(({ question: { name, type } }) => `${name} ${type}`);
  }

  /** The questions as they arrived. */
  get messages(): Buffer[] {
    return this.#questions().map(({ query }) => query);
  }

  get port(): number {
    return this.#server.port;
  }

  /** As the flag `nameservers` has it. */
  get address(): string {
    return `${this.#server.address}:${this.port}`;
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  #questions() {
    return this.#server.requests.filter(({ question }) => !LOOP_LABEL.test(question.name));
  }
}

function withOpt(reply: Buffer, options: Buffer): Buffer {
  const opt = Buffer.from([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);
  opt.writeUInt16BE(options.length, opt.length - 2);
  reply.writeUInt16BE(reply.readUInt16BE(10) + 1, 10);
  return Buffer.concat([reply, opt, options]);
}
