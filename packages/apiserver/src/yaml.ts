import { Composer, isScalar, LineCounter, Parser, visit, type Document } from 'yaml';
import { ApiserverError } from './errors.js';

/** No object is nested as deep. The time of the YAML parser is quadratic in the depth. */
export const MAX_DEPTH = 200;
/** YAML aliases can represent much more text than their length. */
const MAX_ALIASES = 100;

/** The documents of a YAML text. */
export interface YamlText {
  readonly documents: readonly Document.Parsed[];
  /** The line of an offset, from 1. */
  readonly lineAt: (offset: number) => number;
}

/** What is wrong with a YAML text, and where. */
export interface YamlFault {
  readonly offset: number;
  readonly message: string;
}

class BoundedParser extends Parser {
  override *next(lexeme: string): ReturnType<Parser['next']> {
    if (this.stack.length > MAX_DEPTH) {
      throw new ApiserverError('yaml', `nested deeper than ${MAX_DEPTH}`);
    }
    yield* super.next(lexeme);
  }
}

/** Parses a YAML text without a look at duplicate keys. Throws when it is nested too deep. */
export function parseYamlText(text: string): YamlText {
  const lines = new LineCounter();
  // The library compares each key of a map with all before it.
  const composer = new Composer({ lineCounter: lines, prettyErrors: false, uniqueKeys: false });
  const tokens = new BoundedParser(lines.addNewLine).parse(text);
  const documents = [...composer.compose(tokens)];
  return { documents, lineAt: (offset) => lines.linePos(offset).line };
}

/** The first error of a document; undefined when it has none. */
export function findFault({ errors: [error] }: Document.Parsed): YamlFault | undefined {
  return error && { offset: error.pos[0], message: error.message };
}

/** The offsets of the keys that a map of the document has already. */
export function findDuplicateYamlKeys(document: Document.Parsed): number[] {
  const found: number[] = [];
  visit(document, {
    Map(_key, { items }) {
      const values = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (values.has(key.value)) found.push(key.range?.[0] ?? 0);
        values.add(key.value);
      }
    },
  });
  return found.sort((a, b) => a - b);
}

/** The value of a document without errors. Throws for an alias that is unknown or one of too many. */
export function yamlValueOf(document: Document.Parsed): unknown {
  return document.toJS({ maxAliasCount: MAX_ALIASES });
}
