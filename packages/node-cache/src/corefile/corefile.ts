import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { CodedError, shownUrl, systemReason } from '@kube-dns/base';
import { readTextFile } from '@kube-dns/daemon';

/** A Corefile that cannot be read or is not obeyed; each mistake names the file, the line and the reason. */
export class CorefileError extends CodedError {
  readonly mistakes: readonly string[];

  constructor(message: string, options?: ErrorOptions, mistakes: readonly string[] = [message]) {
    super('corefile', message, options);
    this.mistakes = mistakes;
  }
}

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
function parseDirectives(text: string, file: string): Directive[] {
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

/** A word of a Corefile and the line that it begins on, from 1. */
interface Token {
  readonly text: string;
  readonly line: number;
  /** Quoted braces are plain text. */
  readonly isQuoted: boolean;
}

/**
 * Splits a Corefile into words by Caddy's rules (coredns/caddy caddyfile/lexer.go): blanks separate, `#` at
 * the start of a word begins a comment, quotes join words and lines, and `\"` is a quote in them.
 * Throws a CorefileError for a quote that does not end.
 */
function readTokens(text: string, file: string): Token[] {
  const tokens: Token[] = [];
  let line = 1;
  let at = text.startsWith('\uFEFF') ? 1 : 0;
  while (at < text.length) {
    const char = text[at]!;
    if (/\s/.test(char)) {
      if (char === '\n') line++;
      at++;
    } else if (char === '#') {
      at = endOf(text, /\n/g, at);
    } else if (char === '"') {
      const quoted = readQuoted(text, at + 1);
      if (quoted === undefined) {
        throw new CorefileError(`${file}: line ${line}: the quote that begins here does not end`);
      }
      tokens.push({ text: quoted.text, line, isQuoted: true });
      line += quoted.text.split('\n').length - 1;
      at = quoted.end;
    } else {
      const end = endOf(text, /\s/g, at);
      tokens.push({ text: text.slice(at, end), line, isQuoted: false });
      at = end;
    }
  }
  return tokens;
}

/** Writes a word so that {@link readTokens} reads it again; one with blanks must not end in a backslash. */
function quoteToken(text: string): string {
  const isPlain = !/^$|\s|^["#]|^[{}]$/.test(text);
  return isPlain ? text : `"${text.replaceAll('"', '\\"')}"`;
}

function endOf(text: string, pattern: RegExp, start: number): number {
  pattern.lastIndex = start;
  return pattern.exec(text)?.index ?? text.length;
}

/** The text between the quotes, and the position after them. */
function readQuoted(text: string, start: number): { text: string; end: number } | undefined {
  for (let at = start; at < text.length; at++) {
    if (text[at] === '\\' && text[at + 1] === '"') at++;
    else if (text[at] === '"') {
      return { text: text.slice(start, at).replaceAll('\\"', '"'), end: at + 1 };
    }
  }
  return undefined;
}

/** A text that an import names. */
interface ImportedFile {
  readonly name: string;
  readonly text: string;
}

/** Finds the files of an import by its pattern; empty when they cannot be read here. */
export type FindImports = (pattern: string) => readonly ImportedFile[];

/** Receives an import without a file; may throw. */
export type OnMissingImport = (each: Directive) => void;

/** More than any Corefile has; a snippet that imports itself would have no end (coredns/caddy has limits, too). */
const MAX_IMPORT_DEPTH = 16;
const MAX_IMPORTS = 1_000;
/** coredns/caddy caddyfile/parse.go, replaceEnvVars. */
const VARIABLE = /\{\$([^{}\s]+)\}|\{%([^{}%\s]+)%\}/g;

/**
 * The server blocks with their imports and variables replaced, as Caddy does before it reads a plugin; without
 * the snippets. Throws a CorefileError that names each variable that is not set, and for an import without end.
 */
export function resolveCorefile(
  corefile: Corefile,
  env: NodeJS.ProcessEnv,
  find: FindImports,
  onMissing: OnMissingImport,
): WrittenBlock[] {
  const resolver = new Resolver(env, find, onMissing);
  const blocks = resolver.blocks(corefile);
  resolver.checkVariables(corefile.file);
  return blocks;
}

class Resolver {
  readonly #env: NodeJS.ProcessEnv;
  readonly #find: FindImports;
  readonly #onMissing: OnMissingImport;
  readonly #snippets = new Map<string, readonly Directive[]>();
  /** By the variable that is not set: where it is first. */
  readonly #unset = new Map<string, string>();
  #imports = 0;

  constructor(env: NodeJS.ProcessEnv, find: FindImports, onMissing: OnMissingImport) {
    this.#env = env;
    this.#find = find;
    this.#onMissing = onMissing;
  }

  blocks(corefile: Corefile): WrittenBlock[] {
    return this.#withImported(corefile, 0).map((block) => ({
      ...block,
      keys: block.keys.map((key) => this.#expand(key, block)),
      directives: this.#directives(block.directives, 0),
    }));
  }

  checkVariables(file: string): void {
    if (this.#unset.size === 0) return;
    const all = [...this.#unset].map(([name, where]) => `${where}: ${name} is not set`).join(', ');
    throw new CorefileError(
      `${file}: ${all}: set it in the environment as the pod of CoreDNS has it`,
    );
  }

  /** The blocks of the file and of the files that it imports outside of blocks; collects the snippets. */
  #withImported({ blocks, imports }: Corefile, depth: number): WrittenBlock[] {
    const own = blocks.filter((block) => {
      const [, name] = /^\((.*)\)$/.exec(block.keys[0] ?? '') ?? [];
      if (name !== undefined) this.#snippets.set(name, block.directives);
      return name === undefined;
    });
    const imported = imports.flatMap((each) => {
      return this.#files(each, depth).flatMap(({ name, text }) =>
        this.#withImported(parseCorefile(text, name, true), depth + 1),
      );
    });
    return [...own, ...imported];
  }

  #directives(directives: readonly Directive[], depth: number): Directive[] {
    return directives.flatMap((each): Directive[] => {
      if (each.name === 'import') return this.#imported(each, depth);
      const block = each.block && this.#directives(each.block, depth);
      const args = each.args.map((word) => this.#expand(word, each));
      return [{ ...each, name: this.#expand(each.name, each), args, block }];
    });
  }

  #imported(each: Directive, depth: number): Directive[] {
    const snippet = this.#snippets.get(each.args[0] ?? '');
    if (snippet !== undefined) {
      this.#count(each, depth);
      return this.#directives(snippet, depth + 1);
    }
    return this.#files(each, depth).flatMap(({ name, text }) =>
      this.#directives(parseDirectives(text, name), depth + 1),
    );
  }

  #files(each: Directive, depth: number): readonly ImportedFile[] {
    this.#count(each, depth);
    const files = this.#find(this.#expand(each.args[0] ?? '', each));
    if (files.length === 0) this.#onMissing(each);
    return files;
  }

  #count(each: Directive, depth: number): void {
    if (depth < MAX_IMPORT_DEPTH && ++this.#imports <= MAX_IMPORTS) return;
    throw new CorefileError(
      `${placeOf(each)}: ${shownUrl(directiveText(each))}: too many imports in imports`,
    );
  }

  #expand(text: string, at: Pick<Directive, 'line' | 'file'>): string {
    return text.replace(VARIABLE, (match, unix?: string, windows?: string) => {
      const name = unix ?? windows ?? '';
      const value = this.#env[name];
      if (value === undefined && !this.#unset.has(match)) this.#unset.set(match, placeOf(at));
      return value ?? '';
    });
  }
}

/** Imports of a Corefile on disk: files by their pattern, relative to the Corefile's folder. Throws a CorefileError. */
export function importsOnDisk(corefile: string): FindImports {
  return (pattern) => {
    const path = resolve(dirname(corefile), pattern);
    const folder = dirname(path);
    // Caddy's own limit: each further one multiplies the time that a name takes.
    if (/[*?].*[*?]/.test(path)) {
      throw new CorefileError(`import ${pattern}: it has more than one wildcard`);
    }
    const names = readable(folder, () => (existsSync(folder) ? readdirSync(folder).sort() : []));
    return names
      .filter((name) => isMatch(name, basename(path)))
      .flatMap((name): ImportedFile[] => {
        const file = join(folder, name);
        const isFile = readable(file, () => statSync(file).isFile());
        return isFile ? [{ name: file, text: readable(file, () => readTextFile(file)) }] : [];
      });
  };
}

function readable<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new CorefileError(`cannot read ${path}: ${systemReason(error)}`, { cause: error });
  }
}

/** Whether a name matches a pattern with the wildcards that Caddy takes, `*` and `?`. */
export function isMatch(name: string, pattern: string): boolean {
  const escaped = pattern.replace(/[\\^$.+()|[\]{}]/g, '\\$&');
  const text = escaped.replaceAll('*', '[^/]*').replaceAll('?', '[^/]');
  return new RegExp(`^${text}$`).test(name);
}
