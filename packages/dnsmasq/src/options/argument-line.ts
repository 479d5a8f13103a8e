/** Words that are compared with the nanny's flags; flags stand in front. */
const MAX_WORDS = 16;

/** The two halves of the command line of the dnsmasq-nanny container. */
export interface ArgumentHalves {
  readonly nanny: readonly string[];
  readonly dnsmasq: readonly string[];
}

/**
 * Splits argv at the first `--`: nanny flags before, dnsmasq options after it, including a second `--`
 * (kubernetes/dns cmd/dnsmasq-nanny/main.go). Without `--` a line that starts with one of the nanny's
 * flags, or has a word that is meant as one, is all the nanny's, which refuses what is not. Any other line is
 * dnsmasq's, because the oldest manifests run dnsmasq itself.
 */
export function splitArguments(
  argv: readonly string[],
  isNannyFlag: (name: string) => boolean,
  isMeantForNanny: (word: string) => boolean,
): ArgumentHalves {
  const separator = argv.indexOf('--');
  if (separator >= 0) {
    return { nanny: argv.slice(0, separator), dnsmasq: argv.slice(separator + 1) };
  }
  const name = /^--?([^=]+)/.exec(argv[0] ?? '')?.[1];
  const isNanny =
    argv.length === 0 ||
    (name !== undefined && isNannyFlag(name)) ||
    argv.slice(0, MAX_WORDS).some(isMeantForNanny);
  return isNanny ? { nanny: argv, dnsmasq: [] } : { nanny: [], dnsmasq: argv };
}
