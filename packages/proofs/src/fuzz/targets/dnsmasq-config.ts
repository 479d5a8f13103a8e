import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StartupError } from '@kube-dns/daemon';
import { parseOptions } from '@kube-dns/dnsmasq/internal';
import type { FuzzTarget } from '../fuzz-target.js';
import { namesFiles, optionAllowance, OPTION_SEEDS, SERVER_TOKENS } from './option-texts.js';
import { textTarget } from './text-target.js';

/** Files there are never on a disk. */
const MEMORY = '/dev/shm';

/** dnsmasq's configuration files: each input is written into one. */
export function createDnsmasqConfig(): FuzzTarget {
  const folder = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'fuzz-config-'));
  const path = join(folder, 'dnsmasq');
  const target = textTarget({
    allowance: optionAllowance,
    seeds: [
      ...OPTION_SEEDS,
      OPTION_SEEDS.join('\n'),
      '# comment\n  port = 53 # more\n\n"quoted"\n',
    ],
    tokens: [...SERVER_TOKENS, ...OPTION_SEEDS.map((text) => text.split('=')[0]!), '\n', '=', ','],
    parse: (text) => {
      if (namesFiles(text)) return false;
      writeFileSync(path, text);
      parseOptions([`--conf-file=${path}`]);
      return true;
    },
    isRefusal: (error) => error instanceof StartupError,
  });
  return { ...target, close: () => rm(folder, { recursive: true }) };
}
