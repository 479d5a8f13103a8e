import {
  encodeReply,
  optionTexts,
  optRecord,
  type Response,
  ScriptedNameServer,
  withRecord,
} from '@kube-dns/testkit';

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
      if (this.options === undefined) return [reply];
      return [withRecord(reply, optRecord({ options: optionTexts(this.options) }))];
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
