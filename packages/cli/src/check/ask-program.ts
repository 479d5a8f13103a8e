/** A question of a probe, and how it is asked. */
export interface PlannedQuestion {
  readonly of: 'service' | 'endpoint' | 'local';
  readonly server: string;
  readonly port: number;
  readonly way: 'udp' | 'tcp';
  readonly name: string;
  /** How many times; over UDP from one port. */
  readonly times: number;
}

export interface AskPlan {
  readonly questions: readonly PlannedQuestion[];
  /** A and AAAA of a name at once from one port, so many times. */
  readonly pairs: { readonly server: string; readonly name: string; readonly count: number } | null;
  readonly timeoutMs: number;
}

interface Reply {
  readonly rcode: number;
  readonly isTruncated: boolean;
  /** The addresses of its A records. */
  readonly addresses: readonly string[];
}

export interface AskResult {
  /** Of each question its replies; null for one that did not come. */
  readonly replies: readonly (readonly (Reply | null)[])[];
  /** Pairs without both replies. */
  readonly lostPairs: number;
  /** Empty where there is no file. */
  readonly resolvConf: string;
}

/**
 * Asks the questions of a plan, side by side. Its text is also the program of the pod that `--probe` starts, `node -e`, so
 * everything that it uses is inside, modules by `process.getBuiltinModule`. It never rejects.
 */
export async function askAll(plan: AskPlan): Promise<AskResult> {
  const { createSocket } = process.getBuiltinModule('node:dgram');
  const { connect, isIP } = process.getBuiltinModule('node:net');
  const { readFileSync } = process.getBuiltinModule('node:fs');
  const PAIR_MS = 5_000;
  const TYPE_A = 1;
  const TYPE_AAAA = 28;

  function encode(name: string, type: number): Buffer {
    const labels = name.split('.').filter((label) => label !== '');
    const id = Math.floor(Math.random() * 65_536);
    const header = Buffer.from([id >> 8, id & 255, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    const parts = labels.map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)])); // prettier-ignore
    return Buffer.concat([header, ...parts, Buffer.from([0, 0, type, 0, 1])]);
  }

  function afterName(message: Buffer, at: number): number {
    let offset = at;
    while (offset < message.length) {
      const length = message[offset] ?? 0;
      if (length === 0) return offset + 1;
      if (length >= 192) return offset + 2;
      offset += length + 1;
    }
    return message.length;
  }

  function decode(message: Buffer): Reply {
    const addresses: string[] = [];
    let offset = afterName(message, 12) + 4;
    for (let left = message.readUInt16BE(6); left > 0; left--) {
      offset = afterName(message, offset);
      if (offset + 10 > message.length) break;
      const length = message.readUInt16BE(offset + 8);
      const data = message.subarray(offset + 10, offset + 10 + length);
      if (message.readUInt16BE(offset) === TYPE_A && data.length === 4)
        addresses.push(data.join('.'));
      offset += 10 + length;
    }
    return { rcode: message[3]! & 15, isTruncated: (message[2]! & 2) !== 0, addresses };
  }

  /** The replies to queries that are sent at once from one port. */
  function overUdp(server: string, port: number, queries: readonly Buffer[], limitMs: number) {
    return new Promise<(Reply | null)[]>((resolve) => {
      const replies: (Reply | null)[] = queries.map(() => null);
      const socket = createSocket(isIP(server) === 6 ? 'udp6' : 'udp4');
      const finish = () => {
        clearTimeout(timer);
        socket.close();
        resolve(replies);
      };
      const timer = setTimeout(finish, limitMs);
      // Refused, or no route: there is no reply.
      socket.on('error', finish);
      socket.on('message', (message: Buffer) => {
        if (message.length < 12) return;
        const at = queries.findIndex((query) => query.readUInt16BE(0) === message.readUInt16BE(0));
        if (at < 0 || replies[at] !== null) return;
        replies[at] = decode(message);
        if (replies.every((reply) => reply !== null)) finish();
      });
      socket.connect(port, server, () => {
        for (const query of queries) socket.send(query);
      });
    });
  }

  function overTcp(server: string, port: number, query: Buffer) {
    return new Promise<Reply | null>((resolve) => {
      const socket = connect(port, server);
      let received = Buffer.alloc(0);
      const finish = (reply: Reply | null) => {
        clearTimeout(timer);
        socket.destroy();
        resolve(reply);
      };
      const timer = setTimeout(() => finish(null), plan.timeoutMs);
      socket.on('error', () => finish(null));
      socket.on('close', () => finish(null));
      socket.on('connect', () => {
        socket.write(Buffer.concat([Buffer.from([query.length >> 8, query.length & 255]), query]));
      });
      socket.on('data', (chunk: Buffer) => {
        received = Buffer.concat([received, chunk]);
        if (received.length < 14 || received.length < received.readUInt16BE(0) + 2) return;
        finish(decode(received.subarray(2)));
      });
    });
  }

  async function ask({ server, port, way, name, times }: PlannedQuestion) {
    const queries = Array.from({ length: times }, () => encode(name, TYPE_A));
    if (way === 'udp') return overUdp(server, port, queries, plan.timeoutMs);
    return Promise.all(queries.map((query) => overTcp(server, port, query)));
  }

  async function lostPairs(): Promise<number> {
    if (plan.pairs === null) return 0;
    const { server, name, count } = plan.pairs;
    const results = await Promise.all(
      Array.from({ length: count }, () =>
        overUdp(server, 53, [encode(name, TYPE_A), encode(name, TYPE_AAAA)], PAIR_MS),
      ),
    );
    return results.filter((replies) => replies.includes(null)).length;
  }

  function resolvConf(): string {
    try {
      return readFileSync('/etc/resolv.conf', 'utf8');
    } catch {
      return '';
    }
  }

  const [replies, lost] = await Promise.all([Promise.all(plan.questions.map(ask)), lostPairs()]);
  return { replies, lostPairs: lost, resolvConf: resolvConf() };
}
