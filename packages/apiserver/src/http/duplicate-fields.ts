import type { DuplicateFields } from '../cluster/decode.js';

/** An object or a list that is not closed yet. */
interface Level {
  /** The keys so far; undefined in a list. */
  readonly keys: Set<string> | undefined;
  /** The key or the index of the present value. */
  at: string | number;
  expectsKey: boolean;
}

function open(isObject: boolean): Level {
  return { keys: isObject ? new Set() : undefined, at: 0, expectsKey: isObject };
}

/** The index after the text that begins at `start`. */
function endOfText(json: string, start: number): number {
  let end = start;
  do {
    end = json.indexOf('"', end + 1);
    let first = end;
    while (json[first - 1] === '\\') first -= 1;
    // An odd number of backslashes: the quotation mark is part of the text.
    if ((end - first) % 2 === 0) return end + 1;
  } while (end >= 0);
  return json.length;
}

function pathOf(levels: readonly Level[]): string {
  const steps = levels.map(({ at }) => (typeof at === 'number' ? `[${at}]` : `.${at}`));
  return steps.join('').replace(/^\./, '');
}

/** The paths of the keys that an object of a valid JSON text has twice, in the order of the text. */
export function findDuplicateKeys(json: string): string[] {
  const found = new Set<string>();
  const levels: Level[] = [];
  let level: Level | undefined;
  for (let i = 0; i < json.length; i += 1) {
    const character = json.charAt(i);
    switch (character) {
      case '{':
      case '[':
        level = open(character === '{');
        levels.push(level);
        break;
      case '}':
      case ']':
        levels.pop();
        level = levels.at(-1);
        break;
      case ',':
        if (level?.keys) level.expectsKey = true;
        else if (level) level.at = Number(level.at) + 1;
        break;
      case '"': {
        const end = endOfText(json, i);
        if (level?.keys && level.expectsKey) {
          const key = JSON.parse(json.slice(i, end)) as string;
          level.at = key;
          level.expectsKey = false;
          if (level.keys.has(key)) found.add(pathOf(levels));
          level.keys.add(key);
        }
        i = end - 1;
      }
    }
  }
  return [...found];
}

/** The warnings about fields that a JSON text has twice; undefined when it has none. */
export function describeDuplicates(
  paths: readonly string[],
  prefix = '',
): DuplicateFields | undefined {
  if (paths.length === 0) return undefined;
  const warnings = paths.map((path) => `${prefix}duplicate field ${JSON.stringify(path)}`);
  return { warnings, refusal: warnings.join(', ') };
}
