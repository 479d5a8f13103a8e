import {
  ask,
  type Closable,
  type DnsRecord,
  findRealNodeCache,
  type Message,
  NodeCache,
  type NodeCachePorts,
  type NodeCacheStart,
  Owned,
  type Question,
  ScriptedNameServer,
  type Script,
} from '@kube-dns/testkit';

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

/** Ours and the original with the same template, in front of the same scripted name server of each, with the same script. */
export class SideBySide implements Closable {
  readonly #owned: Owned;
  readonly #upstreams: Pair<ScriptedNameServer>;
  readonly #ports: Pair<NodeCachePorts>;

  private constructor(
    owned: Owned,
    upstreams: Pair<ScriptedNameServer>,
    ports: Pair<NodeCachePorts>,
  ) {
    this.#owned = owned;
    this.#upstreams = upstreams;
    this.#ports = ports;
  }

  /** In the template PORT and METRICS are the ports of each, UPSTREAM is the name server of each, with the same script. */
  static async start(template: string, script: Script): Promise<SideBySide> {
    const owned = new Owned();
    try {
      const upstreams = {
        ours: owned.add(await ScriptedNameServer.start(script)),
        original: owned.add(await ScriptedNameServer.start(script)),
      };
      const start = async ({ hostPort }: ScriptedNameServer, program: NodeCacheStart) => {
        const cache = owned.add(await NodeCache.create());
        const { dns, metrics } = cache.ports;
        const text = template
          .replaceAll('UPSTREAM', hostPort)
          .replaceAll('PORT', `${dns}`)
          .replaceAll('METRICS', `127.0.0.1:${metrics}`);
        await cache.putTemplate(text);
        const env = { KUBE_DNS_UPSTREAM_SERVICE_HOST: '192.0.2.1' };
        await cache.start({ ...program, flags: [`-upstreamsvc=${SERVICE}`], env });
        return cache.ports;
      };
      const [ours, original] = await Promise.all([
        start(upstreams.ours, {}),
        start(upstreams.original, { original: findRealNodeCache()! }),
      ]);
      return new SideBySide(owned, upstreams, { ours, original });
    } catch (error) {
      await owned.close();
      throw error;
    }
  }

  /** The answers of both to a question. */
  async ask(question: Question, isOverTcp: boolean): Promise<Pair<SeenAnswer>> {
    const { ours, original } = this.#ports;
    const [here, there] = await Promise.all([
      ask(ours.dns, question, { isOverTcp }),
      ask(original.dns, question, { isOverTcp }),
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
    const read = async ({ metrics }: NodeCachePorts) =>
      (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text();
    const { ours, original } = this.#ports;
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
