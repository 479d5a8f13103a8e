import { errorText } from '@kube-dns/base';
import { extendedErrorOption, RCODE, typeNumber } from '@kube-dns/wire';
import { type Directive, directiveText } from './corefile.js';
import { CLASS_NUMBERS, RCODE_NUMBERS } from './numbers.js';
import { RecordTemplate } from './record-template.js';
import { readPattern } from './rewrite.js';
import type { Draft, ServerBlock, TemplateRules } from './server-block.js';
import { checkWords, fail, oneWord, wholeNumber, zones } from './words.js';

/** `template CLASS TYPE [ZONES…] { … }`; several are tried in their order. */
export function readTemplate(each: Directive, draft: Draft<ServerBlock>): void {
  if (each.args.length < 2) fail(each, 'it is template CLASS TYPE [ZONES…]');
  const [classWord = '', typeWord = '', ...names] = each.args;
  const options = each.block ?? [];
  const rules: Draft<TemplateRules> = {
    text: [each, ...options].map(directiveText).join('\n'),
    line: each.line,
    zones: zones(each, names),
    class: CLASS_NUMBERS.get(classWord) ?? fail(each, `invalid query class ${quoted(classWord)}`),
    type: typeNumber(typeWord) ?? fail(each, `invalid type ${quoted(typeWord)}`),
    patterns: [],
    answers: [],
    authorities: [],
    additionals: [],
    rcode: RCODE.NOERROR,
    reason: undefined,
    fallthrough: undefined,
  };
  for (const option of options) readOption(option, rules);
  draft.templates = [...draft.templates, rules];
}

function readOption(option: Directive, rules: Draft<TemplateRules>): void {
  const { name, args } = option;
  switch (name) {
    case 'match':
      checkWords(option, 1, Infinity, 'REGEX…');
      rules.patterns = [...rules.patterns, ...args.map((source) => readPattern(option, source))];
      return;
    case 'answer':
      rules.answers = [...rules.answers, ...records(option)];
      return;
    case 'authority':
      rules.authorities = [...rules.authorities, ...records(option)];
      return;
    case 'additional':
      rules.additionals = [...rules.additionals, ...records(option)];
      return;
    case 'rcode': {
      const word = oneWord(option, 'CODE');
      rules.rcode = RCODE_NUMBERS.get(word) ?? fail(option, `unknown rcode ${quoted(word)}`);
      return;
    }
    case 'ederror': {
      checkWords(option, 1, 2, 'CODE [REASON]');
      const code = wholeNumber(option, args[0]!, 0, 2 ** 16 - 1);
      rules.reason = extendedErrorOption(code, args[1] ?? '');
      return;
    }
    case 'fallthrough':
      rules.fallthrough = args.length === 0 ? ['.'] : zones(option, args);
      return;
    // CoreDNS accepts it, and looks the targets of CNAMEs up with it and without.
    case 'upstream':
      return;
    case 'var':
    case 'expr':
      return fail(option, 'expressions are not computed: use match');
    default:
      return fail(option, 'template has no such option');
  }
}

function records(option: Directive): RecordTemplate[] {
  checkWords(option, 1, Infinity, '"RECORD"…');
  return option.args.map((text) => {
    try {
      return new RecordTemplate(text);
    } catch (error) {
      return fail(option, errorText(error));
    }
  });
}

const quoted = (word: string) => JSON.stringify(word);
