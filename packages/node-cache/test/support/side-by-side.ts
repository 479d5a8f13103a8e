import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  ask,
  type Closable,
  type DnsRecord,
  findRealNodeCache,
  freePort,
  type Message,
  Owned,
  type Question,
  RunningProgram,
  ScriptedNameServer,
  type Script,
  TemporaryFolder,
} from '@kube-dns/testkit';

const OURS = fileURLToPath(new URL('../../dist/node-cache.cjs', import.meta.url));
const SERVICE = 'kube-dns-upstream';

/** Ours and the original beside it. */
export interface Pair<T> {
  readonly ours: T;
  readonly original: T;
}

/** What a client sees of an answer; TTLs apart, because time passes. */
export interface SeenAnswer {
  readonly rcode: string;
  readonly flags: readonly string[];
  readonly answers: readonly string[];
  readonly authorities: readonly string[];
  readonly additionals: readonly string[];
  /** The size and DO of its OPT record, then the code and length of each option. */
  readonly edns: readonly (number | boolean)[];
  readonly ttls: readonly number[];
}

/** A node-cache that serves a Corefile on loopback. */
class Served implements Closable {
  readonly port: number;
  readonly metricsPort: number;
  readonly program: RunningProgram;

  private constructor(port: number, metricsPort: number, program: RunningProgram) {
    this.port = port;
    this.metricsPort = metricsPort;
    this.program = program;
  }

  static async start(
    name: string,
    command: readonly string[],
    template: string,
    folder: TemporaryFolder,
  ): Promise<Served> {
    const port = await freePort();
    const metricsPort = await freePort();
    const text = template
      .replaceAll('PORT', `${port}`)
      .replaceAll('METRICS', `127.0.0.1:${metricsPort}`);
    const [file = '', ...args] = command;
    const program = new RunningProgram(
      name,
      file,
      [
        ...args,
        ...['-localip', '127.0.0.1', '-setupinterface=false', '-setupiptables=false'],
        ...['-metrics-listen-address', '127.0.0.1:0', '-upstreamsvc', SERVICE],
        ...['-basecorefile', folder.file(`${name}.base`, text)],
        ...['-conf', join(folder.path, `${name}.Corefile`)],
      ],
      { env: { KUBE_DNS_UPSTREAM_SERVICE_HOST: '192.0.2.1' } },
    );
    await program.waitForLine('Running configuration SHA512');
    return new Served(port, metricsPort, program);
  }

  close(): Promise<void> {
    return this.program.close();
  }
}

/** Ours and the original with the same template, in front of the same scripted name server of each, with the same script. */
export class SideBySide implements Closable {
  readonly #owned: Owned;
  readonly #upstreams: Pair<ScriptedNameServer>;
  readonly #served: Pair<Served>;

  private constructor(owned: Owned, upstreams: Pair<ScriptedNameServer>, served: Pair<Served>) {
    this.#owned = owned;
    this.#upstreams = upstreams;
    this.#served = served;
  }

  /** In the template PORT and METRICS are the ports of each, UPSTREAM is the name server of each, with the same script. */
  static async start(template: string, script: Script): Promise<SideBySide> {
    const owned = new Owned();
    try {
      const folder = owned.add(new TemporaryFolder());
      const upstreams = {
        ours: owned.add(await ScriptedNameServer.start(script)),
        original: owned.add(await ScriptedNameServer.start(script)),
      };
      const start = async (name: keyof typeof upstreams, command: readonly string[]) => {
        const text = template.replaceAll('UPSTREAM', `127.0.0.1:${upstreams[name].port}`);
        return owned.add(await Served.start(name, command, text, folder));
      };
      const [ours, original] = await Promise.all([
        start('ours', [process.execPath, OURS]),
        start('original', [findRealNodeCache()!]),
      ]);
      return new SideBySide(owned, upstreams, { ours, original });
    } catch (error) {
      await owned.close();
      throw error;
    }
  }

  /** The answers of both to a question. */
  async ask(question: Question, isOverTcp: boolean): Promise<Pair<SeenAnswer>> {
    const { ours, original } = this.#served;
    const [here, there] = await Promise.all([
      ask(ours.port, question, { isOverTcp }),
      ask(original.port, question, { isOverTcp }),
    ]);
    return { ours: seenIn(here), original: seenIn(there) };
  }

  /** How often each asked its name server for this name. */
  asked(name: string): Pair<number> {
    const count = ({ names }: ScriptedNameServer) =>
      names.filter((each) => each.toLowerCase() === name.toLowerCase()).length;
    const { ours, original } = this.#upstreams;
    return { ours: count(ours), original: count(original) };
  }

  /** The metrics of both. */
  async metrics(): Promise<Pair<string>> {
    const read = async ({ metricsPort }: Served) =>
      (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    const { ours, original } = this.#served;
    return { ours: await read(ours), original: await read(original) };
  }

  close(): Promise<void> {
    return this.#owned.close();
  }
}

const FLAGS = { AA: 0x0400, TC: 0x0200, RD: 0x0100, RA: 0x0080, AD: 0x0020, CD: 0x0010 };

function seenIn({ rcode, flags, answers, authorities, additionals }: Message): SeenAnswer {
  const others = additionals.filter(({ type }) => type !== 'OPT');
  return {
    rcode,
    flags: Object.entries(FLAGS).flatMap(([name, bit]) => ((flags & bit) === 0 ? [] : [name])),
    answers: answers.map(textOf),
    authorities: authorities.map(textOf),
    additionals: others.map(textOf),
    edns: additionals.flatMap((record) =>
      record.type === 'OPT'
        ? [record.udpPayloadSize, record.flag_do, ...record.options.flatMap(optionOf)]
        : [],
    ),
    ttls: [...answers, ...authorities, ...others].map((record) =>
      'ttl' in record ? (record.ttl ?? 0) : 0,
    ),
  };
}

function optionOf(option: Extract<DnsRecord, { type: 'OPT' }>['options'][number]): number[] {
  const length = 'data' in option ? option.data?.length : undefined;
  return [option.code, length ?? 0];
}

function textOf(record: DnsRecord): string {
  return `${record.name} ${record.type} ${JSON.stringify('data' in record ? record.data : '')}`;
}
