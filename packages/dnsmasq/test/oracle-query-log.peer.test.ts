import { afterEach, beforeEach, expect, it } from '@jest/globals';
import {
  endPrograms,
  exchange,
  findCoreDns,
  freePort,
  needsCoreDns,
  ownedBy,
  RunningProgram,
  TemporaryFolder,
  unless,
  until,
} from '@kube-dns/testkit';
import { encodeQuery } from '@kube-dns/wire';
import { serve } from './processes.js';

const opened = ownedBy(afterEach);
const itBesideCoreDns = unless(needsCoreDns(), it);
const LABEL_BYTES = 32;
const NO_OPT: Buffer = Buffer.alloc(0);
const CLASSES = [0, 2, 3, 4, 5, 253, 254, 255, 256];
const TYPES = [...Array(300).keys(), 32_768, 32_769, 65_280, 65_535];
/** What stays of a line: the ID, the question with its sizes, and the rcode. */
const COMPARED = /^(?:\[INFO\] )?127\.0\.0\.1:\d+ - (\d+ ".*" \S+) qr\S* \d+ [\d.]+s$/gm;

let folder: TemporaryFolder;

beforeEach(() => {
  folder = opened(new TemporaryFolder());
});
afterEach(() => endPrograms());

function question(
  id: number,
  labels: readonly Buffer[],
  type: number,
  { opt = NO_OPT, class: value = 1 } = {},
): Buffer {
  const head = Buffer.alloc(12);
  head.writeUInt16BE(id, 0);
  head.writeUInt16BE(0x0100, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(opt.length === 0 ? 0 : 1, 10);
  const name = labels.map((label) => Buffer.concat([Buffer.from([label.length]), label]));
  const fixed = Buffer.from([0, type >> 8, type & 0xff, value >> 8, value & 0xff]);
  return Buffer.concat([head, ...name, fixed, opt]);
}

function opt(size: number, isDnssecOk: boolean): Buffer {
  return Buffer.from([0, 0, 41, size >> 8, size & 0xff, 0, 0, isDnssecOk ? 0x80 : 0, 0, 0, 0]);
}

const NX = [Buffer.from('Nx'), Buffer.from('tEst')];
const ALL_BYTES = Array.from({ length: 256 / LABEL_BYTES }, (_, part) =>
  Buffer.from(Array.from({ length: LABEL_BYTES }, (_byte, i) => part * LABEL_BYTES + i)),
);
const QUESTIONS = [
  ...ALL_BYTES.map((label) => question(1, [label, ...NX], 1)),
  ...TYPES.map((type) => question(2, NX, type)),
  ...[0, 511, 512, 1_232, 65_535].map((size) => question(3, NX, 1, { opt: opt(size, size > 512) })),
  ...CLASSES.map((value) => question(4, NX, 1, { class: value })),
  Buffer.from(encodeQuery({ id: 65_535, name: 'a.nx.test', type: 'A', recursionDesired: false })),
];

itBesideCoreDns(
  'lines are those of CoreDNS, for every byte of a name, every type and class',
  async () => {
    const ours = await serve(['--no-resolv', '--address=/nx.test/'], ['-query-log=text']);
    const port = await freePort();
    const block = `.:${port} {\n  bind 127.0.0.1\n  log\n  chaos\n  template ANY ANY nx.test {\n    rcode NXDOMAIN\n  }\n}\n`;
    const args = ['-conf', folder.file('Corefile', block)];
    const theirs = new RunningProgram('coredns', findCoreDns()!, args);
    await theirs.waitForLine(/CoreDNS-/);
    for (const query of QUESTIONS) {
      await exchange(ours.port, query);
      await exchange(port, query);
    }
    const linesOf = ({ stdout }: RunningProgram) =>
      [...stdout.matchAll(COMPARED)].map(([, line]) => line);
    await until(() => linesOf(ours.process).length === QUESTIONS.length);
    await until(() => linesOf(theirs).length === QUESTIONS.length);
    expect(linesOf(ours.process)).toEqual(linesOf(theirs));
  },
);
