/** One option of dnsmasq's command line by its long name, as it was written. */
export interface DnsmasqOption {
  /** Empty for a word that is not an option. */
  readonly name: string;
  /** Empty without one. */
  readonly value: string;
  /** As on the command line: `--cache-size=1000`, or `-c` and `1000`. */
  readonly words: readonly string[];
  /** The words with blanks between them, for messages. */
  readonly text: string;
}

/** The short options and their long names (dnsmasq src/option.c, the DNS part). */
const LETTERS: Readonly<Record<string, string>> = {
  A: 'address',
  B: 'bogus-nxdomain',
  C: 'conf-file',
  D: 'domain-needed',
  E: 'expand-hosts',
  H: 'addn-hosts',
  I: 'except-interface',
  L: 'localmx',
  N: 'no-negcache',
  P: 'edns-packet-max',
  Q: 'query-port',
  R: 'no-resolv',
  S: 'server',
  T: 'local-ttl',
  V: 'alias',
  W: 'srv-host',
  Y: 'txt-record',
  a: 'listen-address',
  b: 'bogus-priv',
  c: 'cache-size',
  d: 'no-daemon',
  e: 'selfmx',
  f: 'filterwin2k',
  g: 'group',
  h: 'no-hosts',
  i: 'interface',
  m: 'mx-host',
  k: 'keep-in-foreground',
  n: 'no-poll',
  o: 'strict-order',
  p: 'port',
  q: 'log-queries',
  r: 'resolv-file',
  s: 'domain',
  t: 'mx-target',
  u: 'user',
  v: 'version',
  w: 'help',
  x: 'pid-file',
  y: 'localise-queries',
  z: 'bind-interfaces',
  '0': 'dns-forward-max',
  '7': 'conf-dir',
  '8': 'log-facility',
};

/** Options without a value, and those that take a value only with `=`; all others need one. */
const WITHOUT_VALUE = new Set(
  (
    'all-servers bind-dynamic bind-interfaces bogus-priv clear-on-reload conntrack dns-loop-detect ' +
    'dnssec dnssec-debug dnssec-no-timecheck domain-needed expand-hosts filter-A filter-AAAA ' +
    'filterwin2k help keep-in-foreground localise-queries localmx no-daemon no-hosts no-ident ' +
    'no-negcache no-poll no-resolv no-round-robin no-subscribe proxy-dnssec rebind-localhost-ok ' +
    'reuse-port selfmx stop-dns-rebind strict-order strip-mac strip-subnet test use-0x20 version'
  ).split(' '),
);
const WITH_EQUALS_ONLY = new Set(
  (
    'add-mac add-subnet cache-size conf-file dnssec-check-unsigned enable-dbus fast-dns-retry group ' +
    'local-service log-async log-queries pid-file prefetch resolv-file umbrella use-stale-cache user'
  ).split(' '),
);

/** Parses dnsmasq's half of a command line; abbreviated names are unchanged. Never throws. */
export function readDnsmasqLine(words: readonly string[]): DnsmasqOption[] {
  const options: DnsmasqOption[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    const needsWord = (name: string): boolean =>
      !WITHOUT_VALUE.has(name) && !WITH_EQUALS_ONLY.has(name) && at + 1 < words.length;
    const long = /^--([^=]+)(?:=(.*))?$/s.exec(word);
    if (long !== null) {
      const name = long[1]!;
      if (long[2] !== undefined || !needsWord(name)) {
        options.push(option(name, long[2] ?? '', word));
      } else {
        const value = words[++at]!;
        options.push(option(name, value, word, value));
      }
    } else if (/^-[^-]/.test(word)) {
      const { flags, last, value } = readShortOptions(word.slice(1));
      options.push(...flags.map((name) => option(name, '', `--${name}`)));
      const takesNext = value === '' && !WITHOUT_VALUE.has(last) && at + 1 < words.length;
      const next = takesNext ? words[++at]! : value;
      options.push(
        option(last, next, ...lastWords(word, flags.length), ...(takesNext ? [next] : [])),
      );
    } else options.push(option('', '', word));
  }
  return options;
}

function option(name: string, value: string, ...words: readonly string[]): DnsmasqOption {
  return { name, value, words, text: words.join(' ') };
}

/** Without the short options. */
function lastWords(word: string, optionCount: number): string[] {
  return [`-${word.slice(1 + optionCount)}`];
}

/** Joined short options: those without a value, then one with the rest as its value. */
function readShortOptions(characters: string): { flags: string[]; last: string; value: string } {
  const names: string[] = [];
  for (let at = 0; at < characters.length; at++) {
    const name = LETTERS[characters[at]!] ?? characters[at]!;
    const isLast = at + 1 === characters.length;
    if (isLast || !WITHOUT_VALUE.has(name)) {
      return { flags: names, last: name, value: characters.slice(at + 1).replace(/^=/, '') };
    }
    names.push(name);
  }
  return { flags: names, last: '', value: '' };
}

/** A flag of one of the Go programs. */
export interface GoFlag {
  /** With dashes for underscores; empty for a word that is not a flag. */
  readonly name: string;
  readonly value: string;
  /** The words of the command line. */
  readonly text: string;
}

/** Flags that need no value; `--v 2` has one. */
const GO_SWITCHES =
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
    if (given !== undefined || GO_SWITCHES.test(name) || next === undefined) {
      flags.push({ name, value: given ?? '', text });
    } else {
      flags.push({ name, value: next, text: `${text} ${next}` });
      at++;
    }
  }
  return flags;
}
