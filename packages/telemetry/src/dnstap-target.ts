import { isAbsolute } from 'node:path';
import { type FlagDefinition, formatHostPort, parseHostPort } from '@kube-dns/base';

/** Where dnstap messages go, and what they say of who sends them. */
export type DnstapTarget = (
  | { readonly kind: 'unix' | 'file'; readonly path: string }
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
) & {
  /** Undefined for the host name, in a cluster the pod's. */
  readonly identity: string | undefined;
};

/** The system's limit of the path of a socket, in bytes (sun_path without its end). */
const MAX_SOCKET_PATH_BYTES = 107;
const IDENTITY = 'identity=';
const MAX_IDENTITY_BYTES = 255;
const FORMS = 'unix:PATH, tcp:HOST:PORT or file:PATH';

/** Reads `unix:PATH`, `tcp:HOST:PORT` or `file:PATH`, each with `,identity=TEXT` or without; throws with what is wanted. */
export function parseDnstapTarget(text: string): DnstapTarget {
  const [where = '', ...settings] = text.split(',');
  const identity = settings.length === 0 ? undefined : parseIdentity(settings);
  const [, kind = '', rest = ''] = /^(unix|tcp|file):([^]+)$/.exec(where) ?? [];
  if (kind === 'tcp') {
    const { host, port } = parseHostPort(rest);
    if (host === '' || port === null || port === 0) throw new Error('must be tcp:HOST:PORT');
    return { kind, host, port, identity };
  }
  if (kind !== 'unix' && kind !== 'file') throw new Error(`must be ${FORMS}`);
  if (!isAbsolute(rest) || rest.includes('\0')) throw new Error('the path must begin with /');
  if (kind === 'unix' && Buffer.byteLength(rest) > MAX_SOCKET_PATH_BYTES) {
    throw new Error(`the path of a socket has ${MAX_SOCKET_PATH_BYTES} bytes at most`);
  }
  return { kind, path: rest, identity };
}

/** As it is written, without the identity. */
export function targetText(target: DnstapTarget): string {
  return `${target.kind}:${target.kind === 'tcp' ? formatHostPort(target) : target.path}`;
}

/** The flag `--dnstap`; null unless given. */
export const DNSTAP_FLAG: FlagDefinition<DnstapTarget | null> = {
  parse: parseDnstapTarget,
  initial: null,
  help: `send every query and answer as dnstap messages (Frame Streams) to ${FORMS}; ,identity=TEXT names the sender, by default the host name`,
  valueName: 'target',
  formatDefault: () => '',
};

/** Of the settings after the target. */
function parseIdentity([setting = '', ...rest]: readonly string[]): string {
  const isIdentity = setting.startsWith(IDENTITY);
  if (!isIdentity || rest.length > 0) {
    const unknown = isIdentity ? rest[0]! : setting;
    throw new Error(
      `"${unknown}" is no setting, which is identity=TEXT, once; a path and an identity have no comma`,
    );
  }
  const identity = setting.slice(IDENTITY.length);
  const bytes = Buffer.byteLength(identity);
  if (bytes > 0 && bytes <= MAX_IDENTITY_BYTES) return identity;
  throw new Error(`the identity must have 1 to ${MAX_IDENTITY_BYTES} bytes`);
}
