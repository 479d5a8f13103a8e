/** The arguments of a command line as one text has them: each is a line. */
export function argumentsOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}

/** One text for each argument alone, and some of several. */
export function argumentSeeds(words: readonly string[]): string[] {
  const groups = [3, 8].flatMap((size) =>
    words.flatMap((_word, i) => (i % size === 0 ? [words.slice(i, i + size).join('\n')] : [])),
  );
  return [...words, ...groups];
}
