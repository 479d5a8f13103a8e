import { parseArguments, UsageError } from '@kube-dns/base';

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

/** The text of `--help`. */
export const USAGE = `usage: apiserver [flags]

An in-memory Kubernetes API server.

  --port=N              port to listen on, 0 for a free port (default ${DEFAULT_PORT})
  --host=ADDRESS        address to listen on (default 127.0.0.1); 0.0.0.0 and ::
                        are all addresses, IPv4 and IPv6
  --manifests=PATH      file or folder of YAML or JSON objects; changes are followed;
                        may be repeated
  --service-cluster-ip-range=CIDR[,CIDR]
                        IPv4 and IPv6 ranges of service addresses
                        (default 10.96.0.0/16,fd00:10:96::/112)
  --help                show this text
  --version             show the version
`;

const FLAGS = {
  port: { type: 'string' },
  host: { type: 'string' },
  manifests: { type: 'string', multiple: true },
  'service-cluster-ip-range': { type: 'string' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const;

function readPort(text: string | undefined): number {
  if (text === undefined) return DEFAULT_PORT;
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65535) return Number(text);
  throw new UsageError(`"${text}" is not a port`);
}

/** Parses the arguments after the program name. Throws a {@link UsageError}. */
export function parseProgramOptions(args: readonly string[]): ProgramOptions {
  const { values } = parseArguments({ args: [...args], options: FLAGS }, 'apiserver');
  if (values.help) return { action: 'help' };
  if (values.version) return { action: 'version' };
  const manifests = values.manifests ?? [];
  if (manifests.includes('')) throw new UsageError('--manifests needs a path');
  const ranges = values['service-cluster-ip-range']?.split(',') ?? [];
  if (ranges.length > 2) throw new UsageError('more than two service ranges');
  return {
    action: 'serve',
    host: values.host ?? '127.0.0.1',
    port: readPort(values.port),
    manifests,
    serviceRange: ranges.find((range) => !range.includes(':')),
    serviceRangeV6: ranges.find((range) => range.includes(':')),
  };
}
