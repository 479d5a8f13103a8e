import type { FlagDefinition, FlagSpec } from '@kube-dns/base';
import type { Setting } from './status-source.js';

/** Each flag of a table with its value and where that is from; those that are given come first. */
export function flagSettings(
  flags: FlagSpec,
  given: ReadonlyMap<string, readonly string[]>,
): Setting[] {
  const settings = Object.entries(flags)
    .filter(([name, { isHidden = false }]) => !isHidden || given.has(name))
    .map(([name, definition]) => {
      const texts = given.get(name);
      return texts === undefined
        ? { setting: `--${name}`, value: defaultText(definition), from: 'default' }
        : { setting: `--${name}`, value: valueText(definition, texts), from: 'command line' };
    });
  const isDefault = ({ from }: Setting) => Number(from === 'default');
  return settings.sort((left, right) => isDefault(left) - isDefault(right));
}

/** As it is written on the command line. */
function valueText({ isList = false }: FlagDefinition<unknown>, texts: readonly string[]): string {
  return isList ? texts.join(', ') : texts.at(-1)!;
}

function defaultText(definition: FlagDefinition<unknown>): string {
  const { initial } = definition;
  const text = definition.formatDefault?.(initial) ?? '';
  if (text !== '') return text.replace(/^"(.*)"$/, '$1');
  return typeof initial === 'number' || typeof initial === 'boolean' ? String(initial) : '';
}
