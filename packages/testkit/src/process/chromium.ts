import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram, needsPrograms } from './installed.js';

const execute = promisify(execFile);
const CHROMIUM = findProgram('chromium') ?? findProgram('chromium-headless-shell');

/** Why no test uses the browser here; undefined where it is installed. */
export function needsChromium(): string | undefined {
  return CHROMIUM === undefined ? needsPrograms('chromium') : undefined;
}

const flags = (folder: string): string[] => [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  '--proxy-server=127.0.0.1:9',
  `--user-data-dir=${join(folder, 'chromium')}`,
];

/** Runs Chromium without a window and without a network, and returns what it prints. */
export async function runChromium(folder: string, args: readonly string[]): Promise<string> {
  const { stdout } = await execute(CHROMIUM!, [...flags(folder), ...args], {
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout;
}

/** How a page is shown. */
export interface BrowserView {
  readonly width: number;
  readonly height: number;
  readonly scheme: 'light' | 'dark';
}

/** What a browser makes of a page. */
export interface ShownPage {
  /** A PNG of the whole page. */
  readonly picture: Buffer;
  /** The width of its content and of the bar that scrolls it up and down, in pixels. */
  readonly contentWidth: number;
  /** Parts whose content is wider than they are, without a bar to scroll it: the start of their text. */
  readonly cut: readonly string[];
  /** The addresses that it requested, itself among them. */
  readonly requested: readonly string[];
  /** What the console says: errors, and what the policy of the page refused. */
  readonly complaints: readonly string[];
}

/** Runs in the page. */
const MEASURE = `() => ({
  contentWidth: document.documentElement.scrollWidth + innerWidth - document.documentElement.clientWidth,
  cut: [...document.querySelectorAll('body *')]
    .filter((each) => getComputedStyle(each).overflowX !== 'visible')
    .filter((each) => each.scrollWidth > each.clientWidth && each.offsetHeight - each.clientHeight < 4)
    .map((each) => each.textContent.slice(0, 40)),
})`;

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly result?: Record<string, unknown>;
  readonly params?: Record<string, unknown>;
}

/** A Chromium that is spoken to over its DevTools protocol. */
export class Browser {
  readonly #process: ChildProcess;
  readonly #socket: WebSocket;
  readonly #answers = new Map<number, (message: Message) => void>();
  #events: Message[] = [];
  #lastId = 0;
  #session: string | undefined;

  private constructor(process: ChildProcess, socket: WebSocket) {
    this.#process = process;
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => {
      const message = JSON.parse(String(data)) as Message;
      if (message.id === undefined) this.#events.push(message);
      else this.#answers.get(message.id)?.(message);
    });
  }

  /** Starts one, with its files in this folder. */
  static async start(folder: string): Promise<Browser> {
    const args = [...flags(folder), '--remote-debugging-port=0', 'about:blank'];
    const process = spawn(CHROMIUM!, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    let text = '';
    let url: string | undefined;
    for await (const chunk of process.stderr) {
      text += String(chunk);
      url = /DevTools listening on (ws:\S+)/.exec(text)?.[1];
      if (url !== undefined) break;
    }
    if (url === undefined) throw new Error(`Chromium did not start: ${text}`);
    const socket = new WebSocket(url);
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve);
      socket.addEventListener('error', reject);
    });
    return new Browser(process, socket);
  }

  /** Loads a page and shows it so. */
  async show(url: string, { width, height, scheme }: BrowserView): Promise<ShownPage> {
    const { targetId } = await this.#call('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.#call('Target.attachToTarget', { targetId, flatten: true });
    this.#session = String(sessionId);
    for (const domain of ['Page', 'Network', 'Log', 'Runtime'])
      await this.#call(`${domain}.enable`);
    await this.#call('Emulation.setDeviceMetricsOverride', {
      width,
      height,
      deviceScaleFactor: 1,
      mobile: width < 600,
    });
    const features = [{ name: 'prefers-color-scheme', value: scheme }];
    await this.#call('Emulation.setEmulatedMedia', { features });
    this.#events = [];
    await this.#call('Page.navigate', { url });
    const expression = `new Promise((r) => document.readyState === 'complete' ? r() : addEventListener('load', r)).then(() => (${MEASURE})())`;
    const { result } = await this.#call('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    });
    const { value } = result as { value: Pick<ShownPage, 'contentWidth' | 'cut'> };
    const { data } = await this.#call('Page.captureScreenshot', { captureBeyondViewport: true });
    const events = this.#events;
    await this.#call('Page.close');
    this.#session = undefined;
    return {
      picture: Buffer.from(String(data), 'base64'),
      contentWidth: value.contentWidth,
      cut: value.cut,
      requested: events
        .filter(({ method }) => method === 'Network.requestWillBeSent')
        .map(({ params }) => (params?.request as { url: string } | undefined)?.url ?? ''),
      complaints: events
        .filter(
          ({ method }) => method === 'Log.entryAdded' || method === 'Runtime.consoleAPICalled',
        )
        .map(({ params }) => JSON.stringify(params)),
    };
  }

  async close(): Promise<void> {
    const ended = once(this.#process, 'exit');
    this.#socket.close();
    this.#process.kill('SIGKILL');
    await ended;
  }

  async #call(method: string, params: object = {}): Promise<Record<string, unknown>> {
    const id = ++this.#lastId;
    const answer = new Promise<Message>((resolve) => this.#answers.set(id, resolve));
    const session = this.#session === undefined ? {} : { sessionId: this.#session };
    this.#socket.send(JSON.stringify({ id, method, params, ...session }));
    const { result } = await answer;
    this.#answers.delete(id);
    if (result === undefined) throw new Error(`${method} failed`);
    return result;
  }
}
