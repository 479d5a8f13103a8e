import type { Operand } from '../command.js';
import type { Flag, FlagTable } from '../flag-table.js';
import { clause, type ProgramWords, quoted, valueWords } from './program-words.js';

/** A script that makes zsh complete `kube-dns`: to be sourced, or a file `_kube-dns` in the fpath. */
export function zshCompletion({ commands, flags }: ProgramWords): string {
  const summaries = [...commands].map(([name, { summary }]) => quoted(`${name}:${summary}`));
  const arms = [...commands].map(([name, { flags: own, operand }]) => {
    const specs = flagSpecs(own);
    if (operand !== undefined) specs.push(quoted(`*${valueSpec(operand)}`));
    return `    ${name}) _arguments -s ${specs.join(' ')} ;;`;
  });
  return `#compdef kube-dns
# zsh completion of kube-dns
_kube_dns() {
  local -a commands=(${summaries.join(' ')})
  if ((CURRENT == 2)); then
    if [[ $words[2] == -* ]]; then
      _arguments -s ${flagSpecs(flags).join(' ')}
    else
      _describe command commands
    fi
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
${arms.join('\n')}
  esac
}
if [[ $funcstack[1] == _kube-dns ]]; then
  _kube_dns "$@"
else
  compdef _kube_dns kube-dns
fi
`;
}

function flagSpecs(flags: FlagTable): string[] {
  return Object.entries(flags).map(([name, flag]) => flagSpec(name, flag));
}

/** As `_arguments` of zsh reads it. */
function flagSpec(name: string, flag: Flag): string {
  const text = `[${escaped(clause(flag))}]`;
  if (flag.type === 'string') {
    const repeated = flag.multiple === true ? '*' : '';
    return quoted(`${repeated}--${name}=${text}${valueSpec(flag)}`);
  }
  if (flag.short === undefined) return quoted(`--${name}${text}`);
  const { short } = flag;
  return `${quoted(`(-${short} --${name})`)}{-${short},--${name}}${quoted(text)}`;
}

function valueSpec(operand: Operand): string {
  const words = valueWords(operand);
  const action = words === 'file' ? '_files' : words === 'unknown' ? '' : `(${words.join(' ')})`;
  return `:${escaped(operand.value ?? '')}:${action}`;
}

function escaped(text: string): string {
  return text.replaceAll(/[\\[\]:]/g, '\\$&');
}
