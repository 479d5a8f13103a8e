import { isIP } from 'node:net';
import type { BlockDraft } from '../block-draft.js';
import type { Directive } from '../corefile.js';
import { checkWords, durationMs, fail, wholeNumber, zones } from '../directive-words.js';
import type { HostsRules } from '../server-block.js';

/** The defaults of coredns plugin/hosts. */
const FILE = '/etc/hosts';
const TTL = 3_600;
const RELOAD_MS = 5_000;
const MAX_TTL = 65_535;

type HostsDraft = { -readonly [K in keyof HostsRules]: HostsRules[K] };

/** Reads `hosts [FILE [ZONES…]] { … }`. */
export function readHosts(each: Directive, draft: BlockDraft): void {
  const [file = FILE, ...names] = each.args;
  if (!file.startsWith('/')) fail(each, `${JSON.stringify(file)}: write its path from /`);
  const rules: HostsDraft = {
    file,
    zones: zones(each, names),
    lines: [],
    ttlSeconds: TTL,
    reloadMs: RELOAD_MS,
    hasReverse: true,
    fallthrough: undefined,
  };
  for (const option of each.block ?? []) readOption(option, rules);
  draft.hosts = rules;
}

function readOption(option: Directive, rules: HostsDraft): void {
  const { name, args } = option;
  switch (name) {
    case 'fallthrough':
      rules.fallthrough = args.length === 0 ? ['.'] : zones(option, args);
      return;
    case 'no_reverse':
      checkWords(option, 0, 0);
      rules.hasReverse = false;
      return;
    case 'ttl':
      checkWords(option, 1, 1, 'SECONDS');
      rules.ttlSeconds = wholeNumber(option, args[0]!, 1, MAX_TTL);
      return;
    case 'reload':
      checkWords(option, 1, 1, 'DURATION');
      rules.reloadMs = durationMs(option, args[0]!);
      return;
    default:
      if (isIP(name) === 0 || args.length === 0)
        fail(option, 'neither ADDRESS NAME… nor an option');
      if (rules.fallthrough !== undefined) fail(option, 'write it before fallthrough');
      rules.lines = [...rules.lines, [name, ...args].join(' ')];
  }
}
