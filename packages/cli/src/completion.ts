import type { Option, Options } from '@kube-dns/base';
import type { Commands, Operand } from './command.js';

interface ProgramWords {
  readonly commands: Commands;
  /** The flags before a command. */
  readonly flags: Options;
}

/** What follows a flag, or is an operand: nothing that is known, a file, or one of these words. */
type ValueWords = 'unknown' | 'file' | readonly string[];

function valueWords({ value, choices }: Operand): ValueWords {
  if (choices !== undefined) return choices;
  return value === 'FILE' ? 'file' : 'unknown';
}

/** As they are typed. The short ones are not worth a place in a list. */
function flagWords(flags: Options): string[] {
  return Object.keys(flags).map((name) => `--${name}`);
}

/** The first clause of the text of a flag. */
function clause({ help }: Option<unknown>): string {
  return help.split(/[;\n]/, 1)[0] ?? '';
}

/** A word in single quotes, which bash, zsh and fish read alike. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'"'"'`)}'`;
}

/** A script that makes bash, also the 3.2 of macOS, complete `kube-dns`. */
export function bashCompletion({ commands, flags }: ProgramWords): string {
  const values: string[] = [];
  const words: string[] = [];
  for (const [command, { flags: own, operand }] of commands) {
    for (const [name, flag] of Object.entries(own)) {
      if (flag.value !== '') values.push(arm(`'${command} --${name}'`, valueWords(flag)));
    }
    const operands = operand === undefined ? 'unknown' : valueWords(operand);
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

function flagSpecs(flags: Options): string[] {
  return Object.entries(flags).map(([name, flag]) => flagSpec(name, flag));
}

/** As `_arguments` of zsh reads it. */
function flagSpec(name: string, flag: Option<unknown>): string {
  const text = `[${escaped(clause(flag))}]`;
  if (flag.value !== '') {
    const repeated = flag.isList === true ? '*' : '';
    return quoted(`${repeated}--${name}=${text}${valueSpec(flag)}`);
  }
  if (flag.short === undefined) return quoted(`--${name}${text}`);
  const { short } = flag;
  return `${quoted(`(-${short} --${name})`)}{-${short},--${name}}${quoted(text)}`;
}

function valueSpec(operand: Operand): string {
  const words = valueWords(operand);
  const action = words === 'file' ? '_files' : words === 'unknown' ? '' : `(${words.join(' ')})`;
  return `:${escaped(operand.value)}:${action}`;
}

function escaped(text: string): string {
  return text.replaceAll(/[\\[\]:]/g, '\\$&');
}

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

function flagLine(condition: string, name: string, flag: Option<unknown>): string {
  const short = flag.short === undefined ? '' : ` -s ${flag.short}`;
  const value = flag.value === '' ? '' : ` -r${valueText(flag)}`;
  return `complete -c kube-dns -n ${condition}${short} -l ${name}${value} -d ${quoted(clause(flag))}`;
}

function valueText(operand: Operand): string {
  const words = valueWords(operand);
  if (words === 'file') return ' -F';
  return words === 'unknown' ? ' -f' : ` -f -a ${quoted(words.join(' '))}`;
}
