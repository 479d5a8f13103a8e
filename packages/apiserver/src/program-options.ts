import {
  layOut,
  MAX_PORT,
  optional,
  parseOptions,
  preset,
  repeatable,
  switchOption,
  textOption,
  UsageError,
} from '@kube-dns/base';

/** What the command line requests. */
export type ProgramOptions =
  | { readonly action: 'help' }
  | { readonly action: 'version' }
  | {
      readonly action: 'serve';
      readonly host: string;
      readonly port: number;
      readonly manifests: readonly string[];
      readonly serviceRange: string | undefined;
      readonly serviceRangeV6: string | undefined;
    };

const DEFAULT_PORT = 18_080;
const TEXT_COLUMN = 24;

const OPTIONS = {
  port: preset(
    String(DEFAULT_PORT),
    'N',
    `port to listen on, 0 for a free port (default ${DEFAULT_PORT})`,
    (text) => {
      if (/^\d{1,5}$/.test(text) && Number(text) <= MAX_PORT) return Number(text);
      throw new UsageError(`"${text}" is not a port`);
    },
  ),
  host: textOption(
    '127.0.0.1',
    'ADDRESS',
    'address to listen on (default 127.0.0.1); 0.0.0.0 and :: are all addresses, IPv4 and IPv6',
  ),
  manifests: {
    ...repeatable(
      'PATH',
      'file or folder of YAML or JSON objects; changes are followed; may be repeated',
      (text) => text,
    ),
    needs: 'a path',
  },
  'service-cluster-ip-range': optional(
    'CIDR[,CIDR]',
    'IPv4 and IPv6 ranges of service addresses (default 10.96.0.0/16,fd00:10:96::/112)',
    (text) => {
      const ranges = text.split(',');
      if (ranges.length > 2) throw new UsageError('more than two service ranges');
      return ranges;
    },
  ),
  help: switchOption('show this text'),
  version: switchOption('show the version'),
};

/** The text of `--help`. */
export function usage(): string {
  const rows = Object.entries(OPTIONS).flatMap(([name, { value, help }]) =>
    layOut(`  --${name}${value === '' ? '' : `=${value}`}`, help, TEXT_COLUMN),
  );
  return `usage: apiserver [flags]\n\nAn in-memory Kubernetes API server.\n\n${rows.join('\n')}\n`;
}

/** Parses the arguments after the program name. Throws a {@link UsageError}. */
export function parseProgramOptions(args: readonly string[]): ProgramOptions {
  const given = parseOptions(args, OPTIONS, 'apiserver');
  if (given === 'help') return { action: 'help' };
  const { host, port, manifests, version, ...others } = given.values;
  if (version) return { action: 'version' };
  const ranges = others['service-cluster-ip-range'];
  return {
    action: 'serve',
    host,
    port,
    manifests,
    serviceRange: ranges?.find((range) => !range.includes(':')),
    serviceRangeV6: ranges?.find((range) => range.includes(':')),
  };
}
