/** A flag of one of the Go programs. */
export interface GoFlag {
  /** With dashes for underscores; empty for a word that is not a flag. */
  readonly name: string;
  readonly value: string;
  /** The words of the command line. */
  readonly text: string;
}

/** Flags that need no value; `--v 2` has one. */
const WITHOUT_VALUE =
  /^(?:logtostderr|alsologtostderr|profiling|version|help|h|one-output|skip-headers|skip-log-headers|add-dir-header|restartDnsmasq|verbose|verify-only|quiet)$/;

/** Parses `--flag=value`, `-flag value` and switches, as Go's flag packages do. Never throws. */
export function readGoFlags(words: readonly string[]): GoFlag[] {
  const flags: GoFlag[] = [];
  for (let at = 0; at < words.length; at++) {
    const text = words[at]!;
    const [, written, given] = /^--?([^-=][^=]*)(?:=(.*))?$/s.exec(text) ?? [];
    if (written === undefined) {
      flags.push({ name: '', value: '', text });
      continue;
    }
    const name = written.replaceAll('_', '-');
    const next = words[at + 1];
    if (given !== undefined || WITHOUT_VALUE.test(name) || next === undefined) {
      flags.push({ name, value: given ?? '', text });
    } else {
      flags.push({ name, value: next, text: `${text} ${next}` });
      at++;
    }
  }
  return flags;
}
