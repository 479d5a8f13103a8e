/** Lower-cases the first letter: the message of a library as the second half of one of ours. */
export function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
