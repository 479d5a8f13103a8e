import { parseArgs, type ParseArgsConfig } from 'node:util';
import { UsageError } from './errors.js';
import { hint } from './hint.js';

/** `parseArgs` of Node in its strict mode, in our words: throws a UsageError that suggests what was meant. */
export function parseArguments<T extends ParseArgsConfig>(
  config: T,
  program: string,
): ReturnType<typeof parseArgs<T>> {
  const flags = config.options ?? {};
  const names = Object.keys(flags).map((name) => `--${name}`);
  const { tokens } = parseArgs({ ...config, strict: false, tokens: true });
  for (const token of tokens ?? []) {
    if (token.kind === 'positional' && config.allowPositionals !== true) {
      throw new UsageError(`${JSON.stringify(token.value)} is one argument too many`);
    }
    if (token.kind !== 'option') continue;
    const { rawName, value, inlineValue } = token;
    const flag = Object.hasOwn(flags, token.name) ? flags[token.name] : undefined;
    if (flag === undefined) {
      throw new UsageError(`unknown flag ${rawName}${hint(rawName, names, program)}`);
    }
    if (flag.type === 'boolean') {
      if (value !== undefined)
        throw new UsageError(`${rawName}=${value}: this flag takes no value`);
    } else if (value === undefined || (!inlineValue && /^-./.test(value))) {
      throw new UsageError(`${rawName} needs a value${dashAdvice(rawName, value)}`);
    }
  }
  return parseArgs(config);
}

/** A value that begins with a dash is read as a flag unless it is written behind `=`. */
function dashAdvice(name: string, value: string | undefined): string {
  return value === undefined ? '' : `; is it ${value}? Then write ${name}=${value}`;
}
