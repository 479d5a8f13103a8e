import {
  decodeName,
  expandKey,
  expandRdata,
  MAX_MESSAGE_BYTES,
  MAX_NAME_BYTES,
  RecordCursor,
  ReverseAddress,
  SECTION,
  TYPE,
} from '@kube-dns/wire';
import type { LocalData } from '../local/local-data.js';
import { type GivenOption, optionText } from '../options/given-options.js';
import type { DnsmasqOptions } from '../options/option-table.js';
import { hostsLine } from './hosts-line.js';

/** Where a local record is from. */
export type RecordOrigin =
  | { readonly kind: 'option'; readonly option: string; readonly place: string }
  | { readonly kind: 'file'; readonly file: string; readonly line: number | null };

/** More records than this are as the first ones. */
const MAX_RECORDS = 32;

interface LocalRecordSeen {
  readonly owner: Uint8Array;
  readonly type: number;
  readonly rdata: Uint8Array;
}

/** Where the records of a local answer are from, each place once. */
export async function recordOrigins(
  message: Uint8Array,
  options: DnsmasqOptions,
  local: Pick<LocalData, 'origins'>,
): Promise<RecordOrigin[]> {
  const origins = new Map<string, RecordOrigin>();
  for (const record of recordsIn(message)) {
    const origin = (await fileOrigin(record, options, local)) ?? optionOrigin(record, options);
    if (origin !== undefined) origins.set(originText(origin), origin);
  }
  return [...origins.values()];
}

/** `/etc/hosts, line 3`, or `--cname=a.x,b.x of the command line`. */
export function originText(origin: RecordOrigin): string {
  if (origin.kind === 'option') return `${origin.option} of ${origin.place}`;
  return origin.line === null ? origin.file : `${origin.file}, line ${origin.line}`;
}

/** An option as an origin. */
export function originOf(given: GivenOption): RecordOrigin {
  return { kind: 'option', option: optionText(given), place: given.place };
}

function* recordsIn(message: Uint8Array): Generator<LocalRecordSeen> {
  const cursor = new RecordCursor().reset(message, message.length);
  const name = new Uint8Array(MAX_NAME_BYTES);
  const data = new Uint8Array(MAX_MESSAGE_BYTES);
  for (let left = MAX_RECORDS; left > 0 && cursor.next(); left--) {
    if (cursor.section !== SECTION.ANSWER) return;
    const { type, start, rdataStart, end } = cursor;
    const nameBytes = expandKey(message, start, message.length, name);
    const dataBytes = expandRdata(message, type, rdataStart, end, data, 0);
    if (nameBytes < 0 || dataBytes < 0) return;
    yield { owner: name.slice(0, nameBytes), type, rdata: data.slice(0, dataBytes) };
  }
}

async function fileOrigin(
  { owner, type, rdata }: LocalRecordSeen,
  { expandsHosts, domain }: DnsmasqOptions,
  { origins }: Pick<LocalData, 'origins'>,
): Promise<RecordOrigin | undefined> {
  const file = origins.fileOf(owner, type, rdata);
  if (file === undefined) return undefined;
  const isReverse = type === TYPE.PTR;
  const { size, bytes } = new ReverseAddress().read(owner, owner.length);
  const name = decodeName(isReverse ? rdata : owner).toLowerCase();
  const address = isReverse ? bytes.slice(0, size) : rdata;
  const line = await hostsLine(file, name, address, expandsHosts ? domain.toLowerCase() : '');
  return { kind: 'file', file, line: line ?? null };
}

function optionOrigin(seen: LocalRecordSeen, options: DnsmasqOptions): RecordOrigin | undefined {
  const { given, records, interfaceNames } = options;
  const isSame = (one: Uint8Array, other: Uint8Array) => Buffer.compare(one, other) === 0;
  const made =
    records.find(
      ({ owner, type, rdata }) =>
        type === seen.type && isSame(owner, seen.owner) && isSame(rdata, seen.rdata),
    ) ?? interfaceNames.find(({ name }) => isSame(name, seen.owner) || isSame(name, seen.rdata));
  const option = made === undefined ? undefined : given.of(made);
  if (option !== undefined) return originOf(option);
  const ofHosts = given.all.find(({ name }) => HOST_MX_OPTIONS.includes(name));
  return seen.type === TYPE.MX && ofHosts !== undefined ? originOf(ofHosts) : undefined;
}

/** What gives each host an MX record. */
const HOST_MX_OPTIONS = ['localmx', 'selfmx', 'mx-target', 'mx-host'];
