import { serverText, type ServerAddress, SOURCE_NAMES } from '@kube-dns/transport';
import { FLAG, RCODE_NAMES, typeName } from '@kube-dns/wire';
import { ascii, type LineWriter } from './line-writer.js';

/** The rest of the names of rcodes, as miekg/dns writes them for CoreDNS. */
const LATER_RCODES: Readonly<Record<number, string>> = {
  6: 'YXDOMAIN',
  7: 'YXRRSET',
  8: 'NXRRSET',
  9: 'NOTAUTH',
  10: 'NOTZONE',
  11: 'DSOTYPENI',
  16: 'BADVERS',
  17: 'BADKEY',
  18: 'BADTIME',
  19: 'BADMODE',
  20: 'BADNAME',
  21: 'BADALG',
  22: 'BADTRUNC',
  23: 'BADCOOKIE',
};
/** The types whose names miekg/dns writes in another way than the registry has them. */
const OTHER_TYPES: Readonly<Record<number, string>> = {
  0: 'None',
  11: 'TYPE11',
  22: 'TYPE22',
  38: 'TYPE38',
  40: 'TYPE40',
  128: 'NXNAME',
  259: 'TYPE259',
  261: 'RESINFO',
  65_535: 'Reserved',
};
/** Types with a number above this one have none, but for a few. */
const LAST_NAMED_TYPE = 300;
const NUMBERED_TYPES = [32_768, 32_769, 65_535];
const TYPE_PREFIX = ascii('TYPE');
const CLASS_PREFIX = ascii('CLASS');
/** Without 255: a name that is one of a type, too, is not written (miekg/dns, Class.String). */
const CLASSES: ReadonlyMap<number, Uint8Array> = new Map(
  Object.entries({ 1: 'IN', 2: 'CS', 3: 'CH', 4: 'HS', 254: 'NONE' }).map(([value, name]) => [
    Number(value),
    ascii(name),
  ]),
);
const FLAGS = (
  [
    [FLAG.QR, 'qr,'],
    [FLAG.AA, 'aa,'],
    [FLAG.TC, 'tc,'],
    [FLAG.RD, 'rd,'],
    [FLAG.RA, 'ra,'],
    [0x0040, 'z,'],
    [FLAG.AD, 'ad,'],
    [FLAG.CD, 'cd,'],
  ] as const
).map(([bit, name]) => ({ bit, name: ascii(name) }));
const MAX_SERVER_CHARACTERS = 100;

/** The sources' names, by AnswerSource. */
export const SOURCES: readonly Uint8Array[] = SOURCE_NAMES.map(ascii);

const RCODES = new Map<number, Uint8Array>();
for (const [rcode, name] of RCODE_NAMES.entries()) RCODES.set(rcode, ascii(name));
for (const [rcode, name] of Object.entries(LATER_RCODES)) RCODES.set(Number(rcode), ascii(name));

const TYPES = new Map<number, Uint8Array>();
for (const type of [...Array(LAST_NAMED_TYPE).keys(), ...NUMBERED_TYPES]) {
  const name = OTHER_TYPES[type] ?? typeName(type);
  if (name !== undefined) TYPES.set(type, ascii(name));
}

/** A number without a name is written as one. */
export function putRcode(line: LineWriter, rcode: number): void {
  const name = RCODES.get(rcode);
  if (name === undefined) line.putNumber(rcode);
  else line.put(name);
}

export function putType(line: LineWriter, type: number): void {
  putNamed(line, type, TYPES, TYPE_PREFIX);
}

export function putClass(line: LineWriter, value: number): void {
  putNamed(line, value, CLASSES, CLASS_PREFIX);
}

/** The flags of an answer in CoreDNS's order, such as `qr,aa,rd`; an answer has one at least. */
export function putFlags(line: LineWriter, flags: number): void {
  const start = line.at;
  for (const { bit, name } of FLAGS) if ((flags & bit) !== 0) line.put(name);
  if (line.at > start) line.at--;
}

const serverTexts = new WeakMap<ServerAddress, Uint8Array>();

/** The text of a server as JSON, with its quotes; it is made once. */
export function putServer(line: LineWriter, server: ServerAddress): void {
  let text = serverTexts.get(server);
  if (text === undefined) {
    const shown = serverText(server).slice(0, MAX_SERVER_CHARACTERS);
    text = Buffer.from(JSON.stringify(shown));
    serverTexts.set(server, text);
  }
  line.put(text);
}

function putNamed(
  line: LineWriter,
  value: number,
  names: ReadonlyMap<number, Uint8Array>,
  prefix: Uint8Array,
): void {
  const name = names.get(value);
  if (name !== undefined) {
    line.put(name);
    return;
  }
  line.put(prefix);
  line.putNumber(value);
}
