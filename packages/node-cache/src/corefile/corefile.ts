import { CorefileError } from './corefile-error.js';
import { quoteToken, readTokens, type Token } from './tokens.js';

/** A plugin or one of its options: words on a line, and the lines between the braces after them. */
export interface Directive {
  readonly name: string;
  readonly args: readonly string[];
  /** Undefined without braces. */
  readonly block: readonly Directive[] | undefined;
  /** Its line, from 1; 0 for one that was not read from a file. */
  readonly line: number;
  /** The file, when it is an imported one. */
  readonly file?: string;
}

/**
 * The plugins of some zones as they are written: `cluster.local:53 { … }`. A key in round brackets makes it a snippet.
 */
export interface WrittenBlock {
  readonly keys: readonly string[];
  readonly directives: readonly Directive[];
  readonly line: number;
  readonly file?: string;
}

/** A Corefile as it is written: `resolveCorefile` follows its imports. */
export interface Corefile {
  readonly file: string;
  readonly blocks: readonly WrittenBlock[];
  /** The imports outside of every block. */
  readonly imports: readonly Directive[];
}

/** Deeper than any plugin. */
const MAX_DEPTH = 16;

/** A directive made by this program. */
export function directive(
  name: string,
  args: readonly string[] = [],
  block?: readonly Directive[],
): Directive {
  return { name, args, block, line: 0 };
}

/** Reads a Corefile, or an imported part of one; throws a CorefileError that names file, line and reason. */
export function parseCorefile(text: string, file: string, isImported = false): Corefile {
  return new Parser(readTokens(text, file), file, isImported).corefile();
}

/** Reads a file that is imported within a server block; throws a CorefileError. */
export function parseDirectives(text: string, file: string): Directive[] {
  return new Parser(readTokens(text, file), file, true).fragment();
}

/** Writes blocks as a Corefile, indented as CoreDNS' own examples are. */
export function writeCorefile(blocks: readonly WrittenBlock[]): string {
  return blocks
    .map(({ keys, directives }) => {
      const lines = directives.flatMap((each) => directiveLines(each, '    '));
      return [`${keys.map(quoteToken).join(' ')} {`, ...lines, '}', ''].join('\n');
    })
    .join('\n');
}

/** Where a directive is, for messages. */
export function placeOf({ line, file }: Pick<Directive, 'line' | 'file'>): string {
  return file === undefined ? `line ${line}` : `${file}: line ${line}`;
}

/** A directive on one line, without its block, for messages. */
export function directiveText({ name, args }: Directive): string {
  return [name, ...args].map(quoteToken).join(' ');
}

function directiveLines(each: Directive, indent: string): string[] {
  const head = indent + directiveText(each);
  if (each.block === undefined) return [head];
  const inner = each.block.flatMap((option) => directiveLines(option, `${indent}    `));
  return [`${head} {`, ...inner, `${indent}}`];
}

class Parser {
  readonly #tokens: readonly Token[];
  readonly #file: string;
  readonly #isImported: boolean;
  /** What a directive says of its file. */
  readonly #origin: { readonly file?: string };
  #at = 0;

  constructor(tokens: readonly Token[], file: string, isImported: boolean) {
    this.#tokens = tokens;
    this.#file = file;
    this.#isImported = isImported;
    this.#origin = isImported ? { file } : {};
  }

  /** The rest of the file. */
  fragment(): Directive[] {
    const directives: Directive[] = [];
    while (this.#peek() !== undefined) directives.push(this.#directive(0));
    return directives;
  }

  corefile(): Corefile {
    const blocks: WrittenBlock[] = [];
    const imports: Directive[] = [];
    while (this.#peek() !== undefined) {
      if (this.#peek()?.text === 'import') imports.push(this.#directive(0));
      else blocks.push(this.#serverBlock());
    }
    if (blocks.length + imports.length === 0 && !this.#isImported) {
      throw new CorefileError(`${this.#file}: there is no server block in it`);
    }
    return { file: this.#file, blocks, imports };
  }

  #serverBlock(): WrittenBlock {
    const { line } = this.#tokens[this.#at]!;
    const keys = this.#keys();
    if (keys.length === 0) this.#fail(line, 'a server block begins without a zone');
    if (this.#isBrace('{')) {
      this.#at++;
      return { keys, directives: this.#directives(line, 0), line, ...this.#origin };
    }
    // Without braces the whole file is one block.
    return { keys, directives: this.fragment(), line, ...this.#origin };
  }

  /** The words of one line; after a comma at its end also those of the next. */
  #keys(): string[] {
    const keys: string[] = [];
    let { line } = this.#tokens[this.#at]!;
    for (let token = this.#peek(); token !== undefined; token = this.#peek()) {
      if (this.#isBrace('{') || this.#isBrace('}') || token.line !== line) break;
      keys.push(...token.text.split(',').filter((key) => key !== ''));
      this.#at++;
      if (token.text.endsWith(',')) line = this.#peek()?.line ?? line;
    }
    return keys;
  }

  /** Up to the brace that closes the one of `line`. */
  #directives(line: number, depth: number): Directive[] {
    if (depth > MAX_DEPTH) this.#fail(line, `braces within more than ${MAX_DEPTH} others`);
    const directives: Directive[] = [];
    while (!this.#isBrace('}')) {
      if (this.#peek() === undefined) this.#fail(line, 'the brace that opens here is not closed');
      directives.push(this.#directive(depth));
    }
    this.#at++;
    return directives;
  }

  #directive(depth: number): Directive {
    const { text: name, line } = this.#tokens[this.#at]!;
    if (this.#isBrace('{') || this.#isBrace('}')) this.#fail(line, `a stray ${name}`);
    this.#at++;
    const args: string[] = [];
    for (let token = this.#peek(); token?.line === line; token = this.#peek()) {
      if (this.#isBrace('}')) break;
      this.#at++;
      if (token.text === '{' && !token.isQuoted) {
        return { name, args, block: this.#directives(line, depth + 1), line, ...this.#origin };
      }
      args.push(token.text);
    }
    return { name, args, block: undefined, line, ...this.#origin };
  }

  #peek(): Token | undefined {
    return this.#tokens[this.#at];
  }

  #isBrace(brace: '{' | '}'): boolean {
    const token = this.#peek();
    return token?.text === brace && !token.isQuoted;
  }

  #fail(line: number, reason: string): never {
    throw new CorefileError(`${this.#file}: line ${line}: ${reason}`);
  }
}
