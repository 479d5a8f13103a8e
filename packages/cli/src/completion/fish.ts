import type { Operand } from '../command.js';
import type { Flag } from '../flag-table.js';
import { clause, type ProgramWords, quoted, valueWords } from './program-words.js';

/** A script that makes fish complete `kube-dns`. */
export function fishCompletion({ commands, flags }: ProgramWords): string {
  const atFirst = quoted(`not __fish_seen_subcommand_from ${[...commands.keys()].join(' ')}`);
  const lines = ['# fish completion of kube-dns', 'complete -c kube-dns -f'];
  for (const [name, flag] of Object.entries(flags)) lines.push(flagLine(atFirst, name, flag));
  for (const [command, { summary, flags: own, operand }] of commands) {
    lines.push(`complete -c kube-dns -n ${atFirst} -a ${command} -d ${quoted(summary)}`);
    const within = quoted(`__fish_seen_subcommand_from ${command}`);
    for (const [name, flag] of Object.entries(own)) lines.push(flagLine(within, name, flag));
    if (operand === undefined) continue;
    lines.push(`complete -c kube-dns -n ${within}${valueText(operand)}`);
  }
  return `${lines.join('\n')}\n`;
}

function flagLine(condition: string, name: string, flag: Flag): string {
  const short = flag.short === undefined ? '' : ` -s ${flag.short}`;
  const value = flag.type === 'boolean' ? '' : ` -r${valueText(flag)}`;
  return `complete -c kube-dns -n ${condition}${short} -l ${name}${value} -d ${quoted(clause(flag))}`;
}

function valueText(operand: Operand): string {
  const words = valueWords(operand);
  if (words === 'file') return ' -F';
  return words === 'unknown' ? ' -f' : ` -f -a ${quoted(words.join(' '))}`;
}
