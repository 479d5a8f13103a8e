import type { Readable } from 'node:stream';
import { refusal } from '../refusal.js';
import { type Question, readQuestion } from './question.js';
import { textLines } from './text-lines.js';

/**
 * The questions of a file in the format of dnsperf: a name and a type per line, names absolute, comments
 * after `;` or `#`. Throws a refusal that names a malformed line.
 */
export async function* readQuestionFile(file: string, stdin: Readable): AsyncGenerator<Question> {
  let number = 0;
  for await (const line of textLines('question file', file, stdin)) {
    number++;
    const text = line.replace(/(^|\s)[;#].*$/, '').trim();
    if (text === '') continue;
    const [name = '', type = '', ...rest] = text.split(/\s+/);
    const question = rest.length === 0 ? readQuestion(name, type, 'given') : undefined;
    if (question === undefined) {
      const shown = JSON.stringify(text.slice(0, 80));
      throw refusal(`${file}: line ${number}: ${shown} is not a name and a record type`);
    }
    yield question;
  }
}
