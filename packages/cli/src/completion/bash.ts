import {
  flagWords,
  type ProgramWords,
  quoted,
  type ValueWords,
  valueWords,
} from './program-words.js';

/** A script that makes bash, also the 3.2 of macOS, complete `kube-dns`. */
export function bashCompletion({ commands, flags }: ProgramWords): string {
  const values: string[] = [];
  const words: string[] = [];
  for (const [command, { flags: own, operand = {} }] of commands) {
    for (const [name, flag] of Object.entries(own)) {
      if (flag.type === 'string') values.push(arm(`'${command} --${name}'`, valueWords(flag)));
    }
    const operands = valueWords(operand);
    const hasOperands = operands !== 'unknown';
    // Where there are no operands, a flag is all that can follow.
    words.push(arm(`'${command} ${hasOperands ? '-' : ''}'*`, flagWords(own)));
    if (hasOperands) words.push(arm(`'${command} '*`, operands));
  }
  const first = [...commands.keys(), ...flagWords(flags)].join(' ');
  return `# bash completion of kube-dns
_kube_dns() {
  local current=\${COMP_WORDS[COMP_CWORD]} before='' command='' words='' word
  COMPREPLY=()
  if ((COMP_CWORD > 1)); then
    command=\${COMP_WORDS[1]}
    before=\${COMP_WORDS[COMP_CWORD - 1]}
  fi
  # --flag=value is three words here.
  if [[ $current == '=' ]]; then
    current=''
  elif [[ $before == '=' ]]; then
    before=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case "$command $before" in
${values.join('\n')}
    *)
      case "$command $current" in
    ' '*) words='${first}' ;;
${words.join('\n')}
      esac
      ;;
  esac
  if [[ $words == FILE ]]; then
    compopt -o filenames 2>/dev/null
    while IFS='' read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current")
  else
    while IFS='' read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$words" -- "$current")
  fi
}
complete -F _kube_dns kube-dns
`;
}

/** An arm of `case`: what is offered where the pattern matches. */
function arm(pattern: string, words: ValueWords): string {
  const text = words === 'file' ? 'FILE' : words === 'unknown' ? '' : words.join(' ');
  return `    ${pattern}) words=${quoted(text)} ;;`;
}
