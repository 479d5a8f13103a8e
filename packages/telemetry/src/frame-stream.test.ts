import { chmodSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { held, ownedBy, TemporaryFolder, until } from '@kube-dns/testkit';
import { parseDnstapTarget } from './dnstap-target.js';
import { CONTROL, controlFrame, FrameQueue, FrameStream } from './frame-stream.js';

beforeEach(() => void jest.useFakeTimers(held('setTimeout', 'clearTimeout')));
const own = ownedBy(afterEach);
afterEach(() => void jest.useRealTimers());

/** How long a reader has to take the last messages. */
const CLOSE_MS = 500;
/** Time passes only while a test waits: sockets have many turns of the event loop within each time limit. */
const STEP_MS = 100;
const passUntil = (isSo: () => boolean) => {
  const step = () => {
    if (!isSo()) jest.advanceTimersByTime(STEP_MS);
    return isSo();
  };
  return until(isSo.toString(), step, { stepMs: 2 });
};

const READY = Buffer.from(controlFrame(CONTROL.READY));
const START = Buffer.from(controlFrame(CONTROL.START));
const STOP = Buffer.from(controlFrame(CONTROL.STOP));

/** A reader on a socket that does what a test wants. */
class Reader {
  readonly sockets: Socket[] = [];
  readonly #server: Server;
  #received: Buffer[] = [];

  private constructor(server: Server, onData: (socket: Socket, bytes: Buffer) => void) {
    this.#server = server;
    server.on('connection', (socket) => {
      this.sockets.push(socket);
      socket.on('error', () => undefined);
      socket.on('data', (bytes) => {
        this.#received.push(bytes);
        onData(socket, bytes);
      });
    });
  }

  static async start(
    at: string | number,
    onData: (socket: Socket, bytes: Buffer) => void = accept,
  ): Promise<Reader> {
    const server = createServer();
    const reader = new Reader(server, onData);
    await new Promise<void>((resolve) => {
      if (typeof at === 'string') server.listen(at, resolve);
      else server.listen(at, '127.0.0.1', resolve);
    });
    return reader;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' ? (address?.port ?? 0) : 0;
  }

  get received(): Buffer {
    this.#received = [Buffer.concat(this.#received)];
    return this.#received[0]!;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Speaks the protocol as a reader does. */
function accept(socket: Socket, bytes: Buffer): void {
  if (bytes.equals(READY)) socket.write(controlFrame(CONTROL.ACCEPT));
  if (bytes.subarray(-STOP.length).equals(STOP)) socket.end(controlFrame(CONTROL.FINISH));
}

function frame(text: string): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(text.length);
  return Buffer.concat([head, Buffer.from(text)]);
}

function open(target: string, rest: Partial<ConstructorParameters<typeof FrameStream>[0]> = {}) {
  const lines: string[] = [];
  const log = {
    info: (line: string) => lines.push(line),
    warn: (line: string) => lines.push(line),
  };
  const parsed = parseDnstapTarget(target);
  return { lines, stream: own(new FrameStream({ target: parsed, log, ...rest })) };
}

const folder = () => own(new TemporaryFolder()).path;

describe('a stream of messages', () => {
  it('begins and ends with a reader as Frame Streams says, over a Unix socket and TCP', async () => {
    const path = join(folder(), 'socket');
    const unix = own(await Reader.start(path));
    const tcp = own(await Reader.start(0));
    for (const [reader, target] of [
      [unix, `unix:${path}`],
      [tcp, `tcp:127.0.0.1:${tcp.port}`],
    ] as const) {
      const { stream, lines } = open(target);
      stream.send(Buffer.from('before it is open'));
      await until(() => stream.isOpen);
      stream.send(Buffer.from('two'));
      await stream.close();
      expect(reader.received).toEqual(
        Buffer.concat([READY, START, frame('before it is open'), frame('two'), STOP]),
      );
      expect([stream.written, stream.dropped]).toEqual([2, 0]);
      expect(lines).toEqual([`dnstap ${target}: messages are sent`]);
    }
  });

  it('is a file that its owner alone may read, with START and STOP', async () => {
    const path = join(folder(), 'file');
    const { stream } = open(`file:${path}`);
    stream.send(Buffer.from('one'));
    await until(() => stream.written === 1);
    await stream.close();
    expect(readFileSync(path)).toEqual(Buffer.concat([START, frame('one'), STOP]));
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('outsider 4: is a file of mode 0600, also where there was one that others might read', async () => {
    const path = join(folder(), 'file');
    writeFileSync(path, 'of before, and longer than what is written now'.repeat(9));
    chmodSync(path, 0o666);
    const { stream } = open(`file:${path}`);
    await until(() => stream.isOpen);
    await stream.close();
    expect(readFileSync(path)).toEqual(Buffer.concat([START, STOP]));
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('outsider 4: changes no file that a symbolic link leads to, and says so', async () => {
    const path = join(folder(), 'file');
    writeFileSync(path, 'precious', { mode: 0o644 });
    symlinkSync(path, `${path}.link`);
    const { lines } = open(`file:${path}.link`);
    await until(() => lines.length > 0);
    expect(lines).toEqual([
      `dnstap file:${path}.link: the path is a symbolic link, which is not followed: name the file itself; messages are dropped until that is mended`,
    ]);
    expect([readFileSync(path, 'utf8'), statSync(path).mode & 0o777]).toEqual(['precious', 0o644]);
  });

  it('outsider 4: leaves the mode of a device as it is', async () => {
    const { mode } = statSync('/dev/null');
    const { stream } = open('file:/dev/null');
    await until(() => stream.isOpen);
    expect(statSync('/dev/null').mode).toBe(mode);
  });

  it('may end before there is a file or a reader', async () => {
    const path = join(folder(), 'file');
    const reader = own(await Reader.start(0));
    for (const target of [`file:${path}`, `tcp:127.0.0.1:${reader.port}`]) {
      const { stream, lines } = open(target);
      stream.send(Buffer.from('one'));
      await stream.close();
      // What was begun comes to its end.
      if (target.startsWith('file')) await until(() => existsSync(path));
      for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
      expect([stream.isOpen, stream.written, stream.dropped, lines]).toEqual([false, 0, 1, []]);
    }
  });

  it('has one line in the log for a path that is not there, until there is a reader', async () => {
    const path = join(folder(), 'socket');
    const { stream, lines } = open(`unix:${path}`, { maxBytes: 64 * 1_024 });
    await until(() => lines.length > 0);
    for (let i = 0; i < 100; i++) stream.send(Buffer.alloc(1_000));
    expect(stream.dropped).toBeGreaterThan(30);
    const reader = own(await Reader.start(path));
    await passUntil(() => stream.isOpen);
    await until(() => stream.written + stream.dropped === 100);
    await until('what was written', () => reader.received.length > stream.written * 1_000);
    expect(lines).toEqual([
      `dnstap unix:${path}: no such file or directory; messages are dropped until that is mended`,
      `dnstap unix:${path}: messages are sent`,
    ]);
  });

  it('goes on with the next reader when one dies, and counts what that one did not get', async () => {
    const path = join(folder(), 'socket');
    const first = await Reader.start(path);
    const { stream } = open(`unix:${path}`);
    await until(() => stream.isOpen);
    await first.close();
    await until(() => !stream.isOpen);
    stream.send(Buffer.from('between them'));
    const second = own(await Reader.start(path));
    await passUntil(() => second.received.includes('between them'));
    expect([stream.written, stream.dropped]).toEqual([1, 0]);
  });

  it('neither waits for a reader that does not read nor holds more than its bound', async () => {
    const reader = own(await Reader.start(0));
    const { stream } = open(`tcp:127.0.0.1:${reader.port}`, { maxBytes: 128 * 1_024 });
    await until(() => stream.isOpen);
    reader.sockets[0]!.pause();
    const message = Buffer.alloc(50_000);
    let sent = 0;
    for (; stream.dropped < 100; sent++) {
      stream.send(message);
      if (sent % 100 === 0) await new Promise(setImmediate);
    }
    let isClosed = false;
    const closed = stream.close().then(() => (isClosed = true));
    jest.advanceTimersByTime(CLOSE_MS - 1);
    await new Promise(setImmediate);
    expect(isClosed).toBe(false);
    jest.advanceTimersByTime(1);
    await closed;
    await until(() => stream.written + stream.dropped === sent);
  });

  it.each([
    ['is silent', () => undefined, 'the reader does not accept the stream'],
    [
      'sends no control frame',
      (socket: Socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'),
      'the reader does not speak Frame Streams for dnstap',
    ],
    [
      'wants something else',
      (socket: Socket) =>
        socket.write(
          Buffer.concat([
            Buffer.from([0, 0, 0, 0, 0, 0, 0, 13, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1]),
            Buffer.from('x'),
          ]),
        ),
      'the reader does not speak Frame Streams for dnstap',
    ],
    ['ends at once', (socket: Socket) => socket.end(), 'the reader has gone'],
  ])('is not sent to one that %s', async (_what, onData, reason) => {
    const reader = own(await Reader.start(0, onData));
    const { stream, lines } = open(`tcp:127.0.0.1:${reader.port}`);
    const line = `dnstap tcp:127.0.0.1:${reader.port}: ${reason}; messages are dropped until that is mended`;
    await passUntil(() => reader.sockets.length >= 3);
    expect(new Set(lines)).toEqual(new Set([line]));
    expect(lines).toHaveLength(1);
    stream.send(Buffer.from('secret'));
    await stream.close();
    expect(reader.received.includes('secret')).toBe(false);
  });

  it('ends with a reader that sends more than it should while it is open', async () => {
    const reader = own(await Reader.start(0));
    const { stream, lines } = open(`tcp:127.0.0.1:${reader.port}`);
    await until(() => stream.isOpen);
    reader.sockets[0]!.write(Buffer.alloc(100_000, 0xff));
    await until(() => lines.length > 1);
    expect(lines[1]).toContain('the reader does not speak Frame Streams for dnstap');
    await passUntil(() => reader.sockets.length > 1);
    await stream.close();
  });

  it('has two lines in the log for a reader that goes again and again, and one when it stays', async () => {
    let isBad = true;
    const reader = own(
      await Reader.start(0, (socket, bytes) => {
        accept(socket, bytes);
        if (isBad) socket.write('garbage, after it has accepted');
      }),
    );
    const { stream, lines } = open(`tcp:127.0.0.1:${reader.port}`);
    await passUntil(() => reader.sockets.length >= 5);
    const words = ['messages are sent', 'the reader does not speak Frame Streams for dnstap;'];
    expect(lines.map((line, i) => line.includes(words[i]!))).toEqual([true, true]);
    isBad = false;
    await passUntil(() => lines.length === 3);
    expect(lines[2]).toContain('messages are sent');
    await stream.close();
  });

  it('ends for good when its file cannot be written to any more', async () => {
    const { stream, lines } = open('file:/dev/full');
    stream.send(Buffer.alloc(100_000));
    await until(() => lines.some((line) => line.includes('no space left on device')));
    stream.send(Buffer.from('more'));
    await stream.close();
    expect(lines.at(-1)).toBe(
      'dnstap file:/dev/full: no space left on device; nothing more is written',
    );
  });
});

describe('the frames that wait', () => {
  it('come out whole and in order, each with its length in front', () => {
    const queue = new FrameQueue(1 << 20);
    const sizes = [1, 40_000, 3, 70_000, 0, 9];
    for (const [i, size] of sizes.entries()) queue.push(Buffer.alloc(size, i));
    const blocks = [];
    for (let next = queue.take(); next !== undefined; next = queue.take()) blocks.push(next);
    expect(queue.isEmpty).toBe(true);
    expect(blocks.reduce((sum, { frames }) => sum + frames, 0)).toBe(sizes.length);
    const expected = sizes.map((size, i) => {
      const head = Buffer.alloc(4);
      head.writeUInt32BE(size);
      return Buffer.concat([head, Buffer.alloc(size, i)]);
    });
    expect(Buffer.concat(blocks.map(({ bytes }) => bytes)).equals(Buffer.concat(expected))).toBe(
      true,
    );
  });

  it('are dropped and counted when there is no room, and only then', () => {
    const queue = new FrameQueue(4 * 32 * 1024);
    let pushed = 0;
    expect(queue.hasRoom).toBe(true);
    while (queue.dropped === 0) {
      queue.push(Buffer.alloc(1_000));
      pushed++;
    }
    expect(pushed).toBeGreaterThan(100);
    for (let i = 0; i < 500; i++) queue.push(Buffer.alloc(1_000));
    expect(queue.dropped).toBe(501);
    expect(queue.hasRoom).toBe(false);
    const taken = queue.take()!.frames;
    expect(queue.hasRoom).toBe(true);
    for (let i = 0; i < taken; i++) queue.push(Buffer.alloc(1_000));
    expect(queue.dropped).toBe(501);
    let left = 0;
    for (let next = queue.take(); next !== undefined; next = queue.take()) left += next.frames;
    expect(left + 501).toBe(pushed + 500);
  });
});
