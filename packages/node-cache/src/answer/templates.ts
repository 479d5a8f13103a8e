import { TraceKind } from '@kube-dns/base';
import { type Client, NO_ANSWER_YET } from '@kube-dns/transport';
import {
  AnswerWriter,
  CLASS,
  copyQuery,
  decodeName,
  EXTENDED_ERROR,
  extendedErrorOption,
  MAX_MESSAGE_BYTES,
  type Query,
  QUESTION_OFFSET,
  RCODE,
  SECTION,
  type Section,
  TYPE,
  typeText,
} from '@kube-dns/wire';
import { CLASS_NUMBERS } from '../corefile/numbers.js';
import type { MadeRecord, RecordTemplate, TemplateData } from '../corefile/record-template.js';
import type { TemplateRules } from '../corefile/server-block.js';
import { addAnswers, type Lookups } from './lookups.js';
import { nameText, withDot } from './names.js';
import { ZoneSet, type ZoneSet as Zones, zoneSet } from './zones.js';

/** The line of the template that answered, and the rcode. */
export const TEMPLATE_ANSWER = new TraceKind<{ line: number; rcode: number }>();

/** Returned where no template answers: the question goes on. */
export const GOES_ON = -1;

const CLASS_NAMES = new Map([...CLASS_NUMBERS].map(([name, number]) => [number, name]));
const NO_MATCH = extendedErrorOption(EXTENDED_ERROR.OTHER, 'no match in template');
const NO_RECORD = extendedErrorOption(EXTENDED_ERROR.OTHER, 'template makes no record of it');

/** Gives the records of an answer in `length` bytes of a message the TTLs that a cache in front would give them. */
export type BoundTtls = (message: Uint8Array, length: number) => void;

/** The plugin `template` of a block: several are tried in their order. */
export class Templates {
  readonly #templates: readonly Template[];
  readonly #boundTtls: BoundTtls;
  readonly #writer = new AnswerWriter();

  /** `zones` are those of the block, for templates that name none. */
  constructor(rules: readonly TemplateRules[], zones: readonly string[], boundTtls: BoundTtls) {
    this.#templates = rules.map((each) => new Template(each, zones));
    this.#boundTtls = boundTtls;
  }

  /** Writes an answer, or takes a reply path, as an Answerer does; GOES_ON where no template is for the question. */
  answer(query: Query, out: Uint8Array, client: Client, lookups: Lookups): number {
    const { type } = query;
    let name: string | undefined;
    for (const template of this.#templates) {
      const zone = template.zoneOf(query);
      if (zone === undefined) continue;
      name ??= nameText(query.name);
      const data = template.match(query, name, zone, client);
      if (data === undefined) {
        if (template.goesOn(query)) continue;
        return this.#refuse(query, out, template, NO_MATCH);
      }
      if (template.rules.rcode === RCODE.SERVFAIL) {
        return this.#refuse(query, out, template, template.rules.reason);
      }
      const made = template.make(data);
      if (made === undefined) return this.#refuse(query, out, template, NO_RECORD);
      query.trace?.note(TEMPLATE_ANSWER, {
        line: template.rules.line,
        rcode: template.rules.rcode,
      });
      const target = type === TYPE.A || type === TYPE.AAAA ? targetOf(made.answers) : undefined;
      if (target === undefined) return this.#write(query, out, template, made);
      this.#follow(query, client, lookups, template, made, target);
      return NO_ANSWER_YET;
    }
    return GOES_ON;
  }

  /** Answers with the records of the CNAME's target, too (coredns plugin/template, Upstreamer). */
  #follow(
    query: Query,
    client: Client,
    lookups: Lookups,
    template: Template,
    made: MadeAnswer,
    target: string,
  ): void {
    const copy = copyQuery(query);
    const reply = client.defer();
    lookups.ask(target, copy.type, reply, (found) => {
      const out = new Uint8Array(MAX_MESSAGE_BYTES);
      reply.send(out, this.#write(copy, out, template, made, found));
    });
  }

  #write(
    query: Query,
    out: Uint8Array,
    { rules }: Template,
    made: MadeAnswer,
    found?: Uint8Array,
  ): number {
    const writer = this.#writer;
    writer.begin(query, out);
    writer.setAuthoritative();
    this.#add(SECTION.ANSWER, made.answers);
    if (found !== undefined) addAnswers(writer, found);
    this.#add(SECTION.AUTHORITY, made.authorities);
    this.#add(SECTION.ADDITIONAL, made.additionals);
    writer.setRcode(rules.rcode, rules.reason);
    const length = writer.finish();
    this.#boundTtls(out, length);
    return length;
  }

  #add(section: Section, records: readonly MadeRecord[]): void {
    for (const { owner, type, ttlSeconds, rdata } of records) {
      this.#writer.add(section, owner, type, ttlSeconds, rdata);
    }
  }

  #refuse(query: Query, out: Uint8Array, { rules }: Template, reason?: Uint8Array): number {
    query.trace?.note(TEMPLATE_ANSWER, { line: rules.line, rcode: RCODE.SERVFAIL });
    this.#writer.begin(query, out);
    this.#writer.setRcode(RCODE.SERVFAIL, reason);
    return this.#writer.finish();
  }
}

/** The records of an answer, by section. */
interface MadeAnswer {
  readonly answers: readonly MadeRecord[];
  readonly authorities: readonly MadeRecord[];
  readonly additionals: readonly MadeRecord[];
}

const NO_GROUPS: Readonly<Record<string, number>> = {};

/** One template of a block. */
class Template {
  readonly rules: TemplateRules;
  /** The value of a zone is its text in templates. */
  readonly #zones: Zones<string> = new ZoneSet();
  readonly #goesOn: Zones<true>;

  constructor(rules: TemplateRules, zones: readonly string[]) {
    this.rules = rules;
    for (const zone of rules.zones.length === 0 ? zones : rules.zones) {
      this.#zones.set(zone, withDot(zone));
    }
    this.#goesOn = zoneSet(rules.fallthrough ?? []);
  }

  /** The zone of a question that the template is for, but for its expressions; undefined for another one. */
  zoneOf({ name, nameLength, class: asked, type }: Query): string | undefined {
    const { rules } = this;
    const isOfClass = rules.class === CLASS.ANY || asked === CLASS.ANY || asked === rules.class;
    const isOfType = rules.type === TYPE.ANY || type === TYPE.ANY || type === rules.type;
    return isOfClass && isOfType ? this.#zones.find(name, nameLength) : undefined;
  }

  /** What its records are made of; undefined when no expression matches the name. */
  match(query: Query, name: string, zone: string, client: Client): TemplateData | undefined {
    const { rules } = this;
    const { patterns } = rules;
    const pattern = patterns.find((each) => each.test(name));
    if (pattern === undefined && patterns.length > 0) return undefined;
    const itsClass = query.class === CLASS.ANY ? rules.class : query.class;
    return {
      name,
      zone,
      question: nameText(query.bytes, QUESTION_OFFSET),
      class: CLASS_NAMES.get(itsClass) ?? '',
      type: typeText(query.type === TYPE.ANY ? rules.type : query.type),
      remote: client.address,
      regex: pattern?.source ?? '.*',
      match: pattern?.find(name) ?? [name],
      groupNames: pattern?.groupNames ?? NO_GROUPS,
    };
  }

  /** Whether a name without a match goes on. */
  goesOn({ name, nameLength }: Query): boolean {
    return this.#goesOn.find(name, nameLength) === true;
  }

  /** The records of the answer; undefined where one cannot be made. */
  make(data: TemplateData): MadeAnswer | undefined {
    const { rules } = this;
    const answers = madeRecords(rules.answers, data);
    const authorities = madeRecords(rules.authorities, data);
    const additionals = madeRecords(rules.additionals, data);
    return answers && authorities && additionals && { answers, authorities, additionals };
  }
}

function madeRecords(
  templates: readonly RecordTemplate[],
  data: TemplateData,
): readonly MadeRecord[] | undefined {
  const records: MadeRecord[] = [];
  for (const template of templates) {
    const record = template.make(data);
    if (record === undefined) return undefined;
    records.push(record);
  }
  return records;
}

/** The target of the last CNAME, as text. */
function targetOf(records: readonly MadeRecord[]): string | undefined {
  const cname = records.findLast(({ type }) => type === TYPE.CNAME);
  return cname && decodeName(cname.rdata);
}
