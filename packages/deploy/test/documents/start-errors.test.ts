import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { RunningProgram, TemporaryFolder } from '@kube-dns/testkit';
import { ROOT } from '../support/root.js';
import { read } from './documents.js';

interface Row {
  readonly program: string;
  readonly args: readonly string[];
  readonly code: number;
  readonly says: string;
}

const PAGE = read('docs/start-errors.md');
/** The port that is in use, as the page has it. */
const USED_PORT = '8053';
const BUNDLES: Readonly<Record<string, string>> = { 'kube-dns': 'cli' };

const cellsOf = (line: string) =>
  line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));
const codeIn = (cell = '') => /^`(.*)`$/.exec(cell)?.[1];

/** The rows of the tables below a heading. */
function rowsOf(heading: string): string[][] {
  const section = PAGE.split(/^## /m).find((each) => each.startsWith(`${heading}\n`)) ?? '';
  const [, , ...rows] = section.split('\n').filter((line) => line.startsWith('|'));
  return rows.map(cellsOf);
}

const ROWS: readonly Row[] = ['kubedns', 'dnsmasq', 'sidecar', 'node-cache', 'kube-dns'].flatMap(
  (heading) =>
    rowsOf(heading).map(([command, code, says]) => {
      const [program = '', ...args] = codeIn(command)?.match(/"[^"]*"|\S+/g) ?? [];
      const words = args.map((word) => word.replace(/^"(.*)"$/, '$1'));
      return { program, args: words, code: Number(code), says: codeIn(says) ?? '' };
    }),
);

const folder = new TemporaryFolder();
const tcp = createServer();
const udp = createSocket('udp4');
let port = '';

beforeAll(async () => {
  for (const [file, content] of rowsOf('Files of the examples'))
    folder.file(codeIn(file)!, `${codeIn(content)!.replaceAll('\\n', '\n')}\n`);
  tcp.listen(0, '127.0.0.1');
  await once(tcp, 'listening');
  const { port: free } = tcp.address() as AddressInfo;
  udp.bind(free, '127.0.0.1');
  await once(udp, 'listening');
  port = String(free);
});
afterAll(async () => {
  udp.close();
  tcp.close();
  await folder.close();
});

/** The row with the code and the line that there really are. */
async function ended(row: Row): Promise<Row> {
  const { program, args } = row;
  const bundle = `${ROOT}packages/${BUNDLES[program] ?? program}/dist/${program}.cjs`;
  const words = args.map((word) => word.replace(USED_PORT, port));
  // No kubeconfig of this machine.
  const options = { cwd: folder.path, env: { HOME: folder.path } };
  const ran = new RunningProgram(program, process.execPath, [bundle, ...words], options);
  const code = Number(await ran.ended);
  const says = ran.stderr.trimEnd().split('\n').at(-1)!.replaceAll(port, USED_PORT);
  return { program, args, code, says };
}

it('the page has commands of each program', () => {
  const programs = new Set(ROWS.map(({ program }) => program));
  expect([...programs]).toEqual(['kubedns', 'dnsmasq', 'sidecar', 'node-cache', 'kube-dns']);
  expect(ROWS.length).toBeGreaterThan(50);
});

it('each command of the page ends with its code and its line', async () => {
  const found: Row[] = [];
  const waiting = [...ROWS.entries()];
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      found[next[0]] = await ended(next[1]);
  };
  await Promise.all([work(), work()]);
  expect(found).toEqual(ROWS);
});

it('each code of a command is in the table of exit codes', () => {
  const [head = []] = /^\| Program.*$/m.exec(PAGE)?.map(cellsOf) ?? [];
  const meanings = new Map(
    rowsOf('Exit codes').map(([program, ...cells]) => [codeIn(program), cells]),
  );
  for (const { program, code } of ROWS) {
    const meaning = meanings.get(program)?.[head.indexOf(String(code)) - 1];
    expect([program, code, meaning]).not.toContain('');
    expect(meaning).toBeDefined();
  }
});
