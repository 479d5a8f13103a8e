import { CorefileError } from './corefile-error.js';
import {
  type Corefile,
  type Directive,
  directiveText,
  parseCorefile,
  parseDirectives,
  placeOf,
  type WrittenBlock,
} from './corefile.js';

/** A text that an import names. */
export interface ImportedFile {
  readonly name: string;
  readonly text: string;
}

/** Finds the files of an import by its pattern; empty when they cannot be read here. */
export type FindImports = (pattern: string) => readonly ImportedFile[];

/** Receives an import without a file; may throw. */
export type OnMissingImport = (each: Directive) => void;

/** More than any Corefile has; a snippet that imports itself would have no end (coredns/caddy has limits, too). */
const MAX_DEPTH = 16;
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
    const all = [...this.#unset].map(([name, place]) => `${place}: ${name} is not set`).join(', ');
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
    if (depth < MAX_DEPTH && ++this.#imports <= MAX_IMPORTS) return;
    throw new CorefileError(
      `${placeOf(each)}: ${directiveText(each)}: too many imports in imports`,
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
