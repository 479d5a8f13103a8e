import { afterEach, describe, expect, it } from '@jest/globals';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  type DnstapRow,
  endPrograms,
  exchange,
  freePort,
  needsPrograms,
  outputOf,
  ownedBy,
  readDnstap,
  RunningProgram,
  ScriptedNameServer,
  TemporaryFolder,
  unless,
  until,
} from '@kube-dns/testkit';
import {
  type Answerer,
  listen,
  QueryForwarder,
  retryPlan,
  ServerGroup,
  GroupLoad,
  SOURCE,
  UpstreamServers,
  UpstreamSockets,
} from '@kube-dns/transport';
import { AnswerWriter, encodeQuery, SECTION, TYPE } from '@kube-dns/wire';
import { Dnstap, type DnstapOptions } from '../src/dnstap.js';
import { parseDnstapTarget } from '../src/dnstap-target.js';
import { Telemetry } from '../src/telemetry.js';

const own = ownedBy(afterEach);
afterEach(() => endPrograms());

/** Forwards names below `far.example`, and answers all others here; both are observed. */
async function start(target: string, options: Partial<DnstapOptions> = {}) {
  const lines: string[] = [];
  const note = (line: string) => lines.push(line);
  const upstream = own(
    await ScriptedNameServer.start(() => ({ answers: [{ type: 'A', ttl: 9, data: '192.0.2.7' }] })),
  );
  const counter = { countQuery: note, countReply: note, countBadReply: note, countError: note };
  const sockets = own(new UpstreamSockets());
  const servers = new UpstreamServers(sockets, {
    of: () => counter as never,
    retain: () => undefined,
  });
  const server = servers.at({ address: upstream.address, port: upstream.port });
  const group = new ServerGroup('.', [server], 'strict', new GroupLoad());
  const forwarder = own(
    new QueryForwarder({ maxInFlight: 100, plan: retryPlan(2_000), maxUdpBytes: 1_232 }),
  );
  const writer = new AnswerWriter();
  const answerer: Answerer = {
    answer: (query, out, client) => {
      if (Buffer.from(query.bytes).includes('far')) {
        return forwarder.forward(query, out, client, group);
      }
      client.answersFrom(SOURCE.CACHE);
      writer.begin(query, out);
      writer.add(SECTION.ANSWER, undefined, TYPE.A, 30, Uint8Array.of(10, 0, 0, 7));
      return writer.finish();
    },
  };
  const telemetry = new Telemetry();
  const onFailure = (error: unknown) => {
    throw error;
  };
  const observer = telemetry;
  const address = '127.0.0.1';
  const listener = own(await listen({ answerer, address, port: 0, observer, onFailure }));
  const dnstap = own(
    await Dnstap.open(parseDnstapTarget(target), {
      role: 'resolver',
      program: 'tested',
      served: { address, port: listener.port },
      log: { info: note, warn: note },
      ...options,
    }),
  );
  telemetry.add(dnstap);
  forwarder.exchanges.add(telemetry);
  await until(() => dnstap.stream.isOpen);
  return { port: listener.port, upstream, dnstap, lines };
}

/** Asks from a port that is known. */
async function askFrom(port: number, query: Buffer): Promise<{ from: number; answer: Buffer }> {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  socket.send(query, port, '127.0.0.1');
  const [answer] = (await once(socket, 'message')) as [Buffer];
  const { port: from } = socket.address();
  socket.close();
  return { from, answer };
}

const summary = ({ type, asker, answerer, protocol, question, message }: DnstapRow) =>
  `${type} ${asker} ${answerer} ${protocol} ${question} ${message.toString('hex')}`;

unless(needsPrograms('dnstap-read'), describe)('what dnstap-read finds in a file', () => {
  it('are the bytes, addresses, ports and times of the queries and answers, and of the exchanges', async () => {
    const path = join(own(new TemporaryFolder()).path, 'tap');
    const { port, upstream, dnstap } = await start(`file:${path}`);
    const near = encodeQuery({ id: 7, name: 'near.example', type: 'A' });
    const far = encodeQuery({ id: 8, name: 'far.example', type: 'A' });
    const beforeMs = Date.now();
    const first = await askFrom(port, near);
    const overTcp = await exchange(port, near, { isOverTcp: true });
    const second = await askFrom(port, far);
    const afterMs = Date.now();
    await dnstap.close();

    const rows = await readDnstap(path);
    const ours = `127.0.0.1:${port}`;
    const theirs = `127.0.0.1:${upstream.port}`;
    const [asked] = upstream.requests;
    const tcp = rows.find(({ protocol }) => protocol === 'TCP')!;
    const reply = rows.find(({ type }) => type === 'FR')!.message;
    expect(rows.map(summary)).toEqual([
      `CQ 127.0.0.1:${first.from} ${ours} UDP near.example/IN/A ${near.toString('hex')}`,
      `CR 127.0.0.1:${first.from} ${ours} UDP near.example/IN/A ${first.answer.toString('hex')}`,
      `CQ ${tcp.asker} ${ours} TCP near.example/IN/A ${near.toString('hex')}`,
      `CR ${tcp.asker} ${ours} TCP near.example/IN/A ${overTcp.toString('hex')}`,
      `FQ ? ${theirs} UDP far.example/IN/A ${asked!.query.toString('hex')}`,
      `FR ? ${theirs} UDP far.example/IN/A ${reply.toString('hex')}`,
      `CQ 127.0.0.1:${second.from} ${ours} UDP far.example/IN/A ${far.toString('hex')}`,
      `CR 127.0.0.1:${second.from} ${ours} UDP far.example/IN/A ${second.answer.toString('hex')}`,
    ]);
    // The reply has the ID that the server was asked with, and the answer that of the client.
    expect(reply.readUInt16BE(0)).toBe(asked!.query.readUInt16BE(0));
    expect(reply.subarray(12).includes(Buffer.from([192, 0, 2, 7]))).toBe(true);
    const times = rows.map(({ atMs }) => atMs);
    // A millisecond of rounding.
    expect(Math.min(...times)).toBeGreaterThanOrEqual(beforeMs - 1);
    expect(Math.max(...times)).toBeLessThanOrEqual(afterMs + 1);
    const [asking, answering] = [times[6]!, times[7]!];
    expect(asking).toBeLessThanOrEqual(times[4]!);
    expect(times[4]!).toBeLessThanOrEqual(times[5]!);
    expect(times[5]!).toBeLessThanOrEqual(answering);
  });

  it('names who sends it, and its role', async () => {
    const path = join(own(new TemporaryFolder()).path, 'tap');
    const { port, dnstap } = await start(`file:${path},identity=node 1`, { role: 'authoritative' });
    await askFrom(port, encodeQuery({ id: 7, name: 'near.example', type: 'A' }));
    await dnstap.close();
    const text = await outputOf('dnstap-read', ['-y', path]);
    expect(text).toContain('identity: node 1\nversion: tested ');
    expect(text).toContain('type: AUTH_QUERY');
    expect(text).toContain('type: AUTH_RESPONSE');
  });
});

unless(needsPrograms('dig', 'dnstap-read'), it)(
  'dig and dnstap-read print one answer',
  async () => {
    const path = join(own(new TemporaryFolder()).path, 'tap');
    const { port, dnstap } = await start(`file:${path}`);
    const asked = ['@127.0.0.1', '-p', `${port}`, 'far.example', '+nocookie'];
    const dig = await outputOf('dig', [...asked, '+noall', '+comments', '+answer']);
    await dnstap.close();
    const shown = (text: string) =>
      text
        .split('\n')
        .filter((line) => /HEADER|\tA\t/.test(line))
        .map((line) => line.replace(/\s+/g, ' '));
    const text = await outputOf('dnstap-read', ['-p', path]);
    const last = text.slice(text.lastIndexOf('\n', text.lastIndexOf(' CR ')));
    expect(shown(last)).toEqual(shown(dig));
  },
);

unless(needsPrograms('fstrm_capture', 'dnstap-read'), describe)('fstrm_capture', () => {
  it.each(['unix', 'tcp'])('receives all messages, and the end, over %s', async (kind) => {
    const folder = own(new TemporaryFolder()).path;
    const [path, captured] = [join(folder, 'socket'), join(folder, 'captured')];
    const tcpPort = await freePort();
    const at = kind === 'unix' ? ['-u', path] : ['-a', '127.0.0.1', '-p', `${tcpPort}`];
    const args = ['-t', 'protobuf:dnstap.Dnstap', ...at, '-w', captured, '-ddd'];
    const reader = own(new RunningProgram('fstrm_capture', 'fstrm_capture', args));
    await until(() => reader.output.includes('opening') || existsSync(path));
    const target = kind === 'unix' ? `unix:${path}` : `tcp:127.0.0.1:${tcpPort}`;
    const { port, dnstap, lines } = await start(target);
    const total = 300;
    for (let i = 0; i < total; i++) {
      await askFrom(port, encodeQuery({ id: i, name: `n${i}.near.example`, type: 'A' }));
    }
    await dnstap.close();
    // A reader that was not there at once has a line before.
    expect(lines.at(-1)).toBe(`dnstap ${target}: messages are sent`);
    expect([dnstap.stream.written, dnstap.stream.dropped]).toEqual([2 * total, 0]);
    await reader.close('SIGTERM');
    const rows = await readDnstap(captured);
    expect(rows.map(({ type, message }) => `${type} ${message.readUInt16BE(0)}`)).toEqual(
      Array.from({ length: total }, (_, i) => [`CQ ${i}`, `CR ${i}`]).flat(),
    );
  });
});
