import { StartupError } from '@kube-dns/daemon';
import { parseOptions } from '@kube-dns/dnsmasq/internal';
import type { FuzzTarget } from '../fuzz-target.js';
import { argumentSeeds, argumentsOf } from './argument-lines.js';
import { namesFiles, optionAllowance, OPTION_SEEDS, SERVER_TOKENS } from './option-texts.js';
import { textTarget } from './text-target.js';

/** dnsmasq's own half of the command line. */
export function createDnsmasqFlags(): FuzzTarget {
  const words = OPTION_SEEDS.map((text) => `--${text.replaceAll('"', '')}`);
  return textTarget({
    allowance: optionAllowance,
    seeds: [...argumentSeeds(words), '-k\n-d\n-p\n53\n-S/a/1.2.3.4\n-c9', '--\nx', '--help', '-w'],
    tokens: [...SERVER_TOKENS, ...words.map((word) => word.split('=')[0]!), '\n--', '=', ','],
    parse: (text) => {
      if (namesFiles(text)) return false;
      parseOptions(argumentsOf(text));
      return true;
    },
    isRefusal: (error) => error instanceof StartupError,
  });
}
