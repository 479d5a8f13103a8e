import { LineCounter, parseAllDocuments } from 'yaml';
import { reasonOf, StartError } from '../errors.js';
import { lowerFirst } from '../lower-first.js';

/** The documents of a YAML text as plain values; throws a StartError that names file, line and reason. */
export function parseDocuments(text: string, file: string): unknown[] {
  const lineCounter = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter, prettyErrors: false });
  return [...documents].map((document) => {
    const error = document.errors[0];
    if (error !== undefined) {
      const { line, col } = lineCounter.linePos(error.pos[0]);
      throw new StartError(`${file}: line ${line}, column ${col}: ${lowerFirst(error.message)}`);
    }
    try {
      return document.toJS() as unknown;
    } catch (cause) {
      // An alias without its anchor, or more aliases than a manifest can need.
      throw new StartError(`${file}: ${lowerFirst(reasonOf(cause))}`, { cause });
    }
  });
}
