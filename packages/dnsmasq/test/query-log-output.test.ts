import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  ask,
  ConfigVolume,
  encodeQuery,
  endPrograms,
  freePort,
  ownedBy,
  TemporaryFolder,
  until,
} from '@kube-dns/testkit';
import { PROGRAM, serve } from './processes.js';

const opened = ownedBy(afterEach);
const OPTIONS = ['--no-resolv', '--no-hosts', '--address=/a.test/192.0.2.1'];
/** Their lines are more than the ring, and what the system holds of a pipe, have room for. */
const MANY = 6_000;
const IN_FLIGHT = 50;

interface Line {
  readonly qname: string;
  readonly source: string;
}

const linesOf = (text: string): Line[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);

interface Started {
  readonly child: ChildProcess;
  readonly port: number;
  readonly metrics: () => Promise<string>;
  readonly log: () => string;
}

/** Starts with a stdout of the test's own; `command` may put another program before it. */
async function start(
  stdout: 'pipe' | number,
  command: (line: string) => string = (line) => `exec ${line}`,
): Promise<Started> {
  const [port, metricsPort] = [await freePort(), await freePort()];
  const nanny = ['-configDir=/nonexistent', '-query-log=json', `-metrics-addr=:${metricsPort}`];
  const listen = [`--port=${port}`, '--listen-address=127.0.0.1', '--bind-interfaces'];
  const words = [process.execPath, PROGRAM, ...nanny, '--', ...listen, ...OPTIONS];
  const line = command(words.map((word) => `'${word}'`).join(' '));
  const child = spawn('sh', ['-c', line], {
    stdio: ['ignore', stdout, 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '', KUBE_DNS_ENDS_WITH_PARENT: '1' },
  });
  opened({ close: () => Promise.resolve(void child.kill('SIGKILL')) });
  let log = '';
  child.stderr!.setEncoding('utf8').on('data', (more: string) => (log += more));
  const metrics = async () =>
    (await fetch(`http://127.0.0.1:${metricsPort}/metrics`).catch(() => undefined))?.text() ?? '';
  await until(async () => (await metrics()) !== '');
  return { child, port, metrics, log: () => log };
}

const valueOf = (page: string, name: string) =>
  Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(page)?.[1]);

/** Asks so many questions, a few at a time, and resolves when all are answered. */
async function askMany(port: number, count: number): Promise<void> {
  const socket = createSocket('udp4');
  const query = encodeQuery({ name: 'a.test' });
  let [sent, answered] = [0, 0];
  const send = () => {
    if (sent++ < count) socket.send(query, port, '127.0.0.1');
  };
  socket.on('message', () => {
    answered++;
    send();
  });
  for (let i = 0; i < IN_FLIGHT; i++) send();
  await until(() => answered === count);
  socket.close();
}

async function endOf(child: ChildProcess): Promise<unknown> {
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  return (await ended)[0];
}

/** Every question has a whole line, or is counted in the last line of the log. */
function expectAll(text: string, log: string): void {
  expect(text.endsWith('\n')).toBe(true);
  const last = log.trimEnd().split('\n').at(-1)!;
  const counts = /query log: (\d+) lines dropped, (\d+) of them at the end$/.exec(last);
  expect(linesOf(text).length + Number(counts?.[1])).toBe(MANY);
  expect(Number(counts?.[2])).toBeGreaterThan(0);
}

afterEach(() => endPrograms());

describe('the query log', () => {
  it('is on stdout, all of it before the process ends', async () => {
    const { child, port } = await start('pipe');
    let text = '';
    child.stdout!.setEncoding('utf8').on('data', (more: string) => (text += more));
    await askMany(port, 100);
    const closed = once(child, 'close');
    expect(await endOf(child)).toBe(0);
    await closed;
    expect(linesOf(text)).toHaveLength(100);
    expect(linesOf(text)[0]).toMatchObject({ qname: 'a.test.', source: 'local' });
  });

  it('delays neither an answer nor the end while it is not read: lines are dropped and counted', async () => {
    const { child, port, metrics, log } = await start('pipe');
    await askMany(port, MANY);
    const page = await metrics();
    const dropped = valueOf(page, 'dnsmasq_query_log_dropped_lines_total');
    expect(dropped).toBeGreaterThan(0);
    expect(valueOf(page, 'dnsmasq_query_log_lines_total')).toBeLessThan(MANY - dropped);
    const closed = once(child, 'close');
    let text = '';
    // Node would read on for itself, after this.
    child.once('exit', () => {
      child.stdout!.setEncoding('utf8').on('data', (more: string) => (text += more));
    });
    expect(await endOf(child)).toBe(0);
    await closed;
    expectAll(text, log());
  });

  it('has whole lines alone in a pipe whose reader stops, and the log says how many are lost', async () => {
    const path = join(opened(new TemporaryFolder()).path, 'pipe');
    execFileSync('mkfifo', [path]);
    const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    const { child, port, log } = await start(pipe);
    await askMany(port, MANY);
    const closed = once(child, 'close');
    expect(await endOf(child)).toBe(0);
    await closed;
    const text = Buffer.alloc(1_024 * 1_024);
    const length = readSync(pipe, text);
    closeSync(pipe);
    expectAll(text.toString('utf8', 0, length), log());
  });

  it('is read again after that: all lines are whole, and every question has one or is counted', async () => {
    const { child, port, metrics } = await start('pipe');
    await askMany(port, MANY);
    let text = '';
    child.stdout!.setEncoding('utf8').on('data', (more: string) => (text += more));
    await until(async () => {
      const page = await metrics();
      const dropped = valueOf(page, 'dnsmasq_query_log_dropped_lines_total');
      return valueOf(page, 'dnsmasq_query_log_lines_total') + dropped === MANY;
    });
    const dropped = valueOf(await metrics(), 'dnsmasq_query_log_dropped_lines_total');
    await until(() => linesOf(text.slice(0, text.lastIndexOf('\n') + 1)).length + dropped === MANY);
    expect(text.endsWith('\n')).toBe(true);
  });

  it('may have a reader that goes', async () => {
    const { child, port, metrics } = await start('pipe');
    child.stdout!.destroy();
    await askMany(port, 100);
    await until(
      async () => valueOf(await metrics(), 'dnsmasq_query_log_dropped_lines_total') === 100,
    );
    expect(await endOf(child)).toBe(0);
  });

  it('may be a file', async () => {
    const path = join(opened(new TemporaryFolder()).path, 'log');
    const file = openSync(path, 'w');
    const { child, port } = await start(file);
    closeSync(file);
    await askMany(port, 100);
    expect(await endOf(child)).toBe(0);
    expect(linesOf(readFileSync(path, 'utf8'))).toHaveLength(100);
  });

  it.each(['/dev/null', '&-'])('may be nothing: >%s', async (target) => {
    const { child, port } = await start('pipe', (line) => `exec ${line} >${target}`);
    await askMany(port, 100);
    expect(await endOf(child)).toBe(0);
  });

  it('changes with the key of the ConfigMap, and is that of the flag without it', async () => {
    const config = opened(await ConfigVolume.create({}));
    const nanny = [`-configDir=${config.path}`, '-restartDnsmasq=true', '-query-log=text'];
    const { process: program, port } = await serve(OPTIONS, nanny);
    /** Asks until a line looks like this: the key is applied some time after it is written. */
    const askUntil = (looks: (line: string) => boolean) =>
      until(async () => {
        await ask(port, 'a.test');
        return looks(program.stdout.trimEnd().split('\n').at(-1) ?? '');
      });
    await askUntil((line) => line.startsWith('127.0.0.1:'));
    await config.put({ queryLog: 'json\n' });
    await askUntil((line) => line.startsWith('{"time":'));
    await config.put({ queryLog: 'xml' });
    await program.waitForLine(/config: queryLog: "xml" is not a format: .* keeping the previous/);
    await config.put({});
    await askUntil((line) => line.startsWith('127.0.0.1:'));
  });
});
