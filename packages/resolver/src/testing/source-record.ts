import {
  type AddressedClient,
  type AnswerObserver,
  type AnswerSource,
  type RetainedQuery,
  serverText,
  type ServerAddress,
  SOURCE_NAMES,
} from '@kube-dns/transport';
import { decodeName, type Query } from '@kube-dns/wire';

/** Notes where each answer of a listener came from: `NAME SOURCE`, and `ADDRESS#PORT` of a server that replied. */
export class SourceRecord implements AnswerObserver {
  readonly rows: string[] = [];
  #name = '';

  /** Those since the last call. */
  take(): string[] {
    return this.rows.splice(0);
  }

  begin({ name }: Query, client: AddressedClient): void {
    if (client.copyAddress(new Uint8Array(16), 0) === 0) throw new Error('a client has an address');
    this.#name = decodeName(name, 0);
  }

  answered(_message: Uint8Array, length: number, source: AnswerSource): void {
    this.#note(this.#name, length, source, undefined);
  }

  retain(): RetainedQuery {
    const name = this.#name;
    return {
      answered: (_message, length, source, server) => this.#note(name, length, source, server),
    };
  }

  #note(
    name: string,
    length: number,
    source: AnswerSource,
    server: ServerAddress | undefined,
  ): void {
    const parts = [name, SOURCE_NAMES[source]];
    if (server !== undefined) parts.push(serverText(server));
    if (length === 0) parts.push('unanswered');
    this.rows.push(parts.join(' '));
  }
}
