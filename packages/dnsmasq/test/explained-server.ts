import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseFlags } from '@kube-dns/base';
import { type StatusSource } from '@kube-dns/daemon';
import type { Explanation } from '@kube-dns/telemetry';
import { chooseUdpEngine } from '@kube-dns/transport';
import { readUint16 } from '@kube-dns/wire';
import { encodeQuery, until } from '@kube-dns/testkit';
import { PROGRAM } from '../src/config/flags.js';
import { parseOptions } from '../src/options/parse-options.js';
import { DnsmasqServer } from '../src/server.js';
import { recordedLog } from './recorded-log.js';

/** The files of a ConfigMap. */
interface ConfigMapFiles {
  readonly folder: string;
  readonly stubDomains: string;
}

/** What `/explain` answers. */
export interface Explained extends Explanation {
  readonly error?: string;
}

/** A whole dnsmasq in this process, with its page of explanations and a client of its port. */
export class ExplainedServer {
  readonly #server: DnsmasqServer;
  readonly #socket: Socket;
  readonly #waiting = new Map<number, (answer: Buffer) => void>();
  #lastId = 0;

  private constructor(server: DnsmasqServer, socket: Socket) {
    this.#server = server;
    this.#socket = socket;
    socket.on('message', (answer) => {
      const id = readUint16(answer, 0);
      this.#waiting.get(id)?.(answer);
      this.#waiting.delete(id);
    });
  }

  static start(...argv: string[]): Promise<ExplainedServer> {
    return ExplainedServer.#start('/nonexistent/kube-dns', ...argv);
  }

  /** With a ConfigMap as files of a folder, which is made. */
  static startWith(config: ConfigMapFiles, ...argv: string[]): Promise<ExplainedServer> {
    mkdirSync(config.folder, { recursive: true });
    writeFileSync(join(config.folder, 'stubDomains'), config.stubDomains);
    return ExplainedServer.#start(config.folder, ...argv);
  }

  static async #start(configDir: string, ...argv: string[]): Promise<ExplainedServer> {
    const log = recordedLog();
    const local = ['--listen-address=127.0.0.1', '--bind-interfaces'];
    const listen = ['--port=0', '--no-resolv', ...(argv.includes('--local-service') ? [] : local)];
    const { engine } = await chooseUdpEngine('dgram');
    const { values } = parseFlags(PROGRAM, [`--configDir=${configDir}`, '--syncInterval=50ms']);
    const server = new DnsmasqServer(values, parseOptions([...listen, ...argv]), engine, log);
    await server.start();
    const [, port] = /serving on port (\d+)/.exec(log.messages.join('\n')) ?? [];
    const socket = createSocket('udp4');
    socket.connect(Number(port), '127.0.0.1');
    await once(socket, 'connect');
    return new ExplainedServer(server, socket);
  }

  get status(): StatusSource {
    return this.#server.status;
  }

  /** Waits until a change of the ConfigMap has its effect. */
  async configured(hasEffect: () => boolean): Promise<void> {
    await until('the new ConfigMap', hasEffect);
  }

  /** What the page says of a question. */
  async explain(name: string, type = 'A', client?: string): Promise<Explained> {
    const parameters = new URLSearchParams({ name, type, ...(client !== undefined && { client }) });
    const { body } = await this.#server.pages.local.get('/explain')!(parameters);
    return JSON.parse(body) as Explained;
  }

  /** The answer that a client with EDNS gets over UDP. */
  ask(name: string, type = 'A'): Promise<Buffer> {
    const id = (this.#lastId = (this.#lastId + 1) & 0xffff);
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#socket.send(encodeQuery({ name, type, id, ednsBytes: 1232 }));
    });
  }

  async close(): Promise<void> {
    this.#socket.close();
    await this.#server.close();
  }
}
