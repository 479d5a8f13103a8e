import { isIP } from 'node:net';
import { parseEncryptedServer, type EncryptedServer } from '@kube-dns/daemon';
import { directive, plainTarget, type Directive } from '@kube-dns/node-cache/corefile';
import { encryptedText, plainServer } from '../dns-setup.js';

/** The only path that CoreDNS asks over HTTPS (coredns plugin/pkg/doh). */
const COREDNS_PATH = '/dns-query';
const TLS_PORT = 853;
const HTTPS_PORT = 443;
const NOT_OF_HTTPS =
  'CoreDNS has no certificate’s name for one HTTPS server alone: tls_servername holds for all of a forward';

/** The servers of a `forward` as CoreDNS takes them, and its options for them. */
export interface ForwardTargets {
  readonly targets: readonly string[];
  readonly options: readonly Directive[];
  /** What cannot be carried over, with the reason. */
  readonly lost: readonly (readonly [server: string, reason: string])[];
}

/**
 * Turns servers in the form of DnsSetup into targets of `forward`; `tlsCa` is the file of authorities, or empty. One
 * certificate's name for all encrypted servers becomes `tls_servername`, several become `tls://IP%NAME`, which
 * CoreDNS has since 1.13.2.
 */
export function forwardTargets(servers: readonly string[], tlsCa: string): ForwardTargets {
  const parsed = servers.map((server) => ({ server, encrypted: parseEncryptedServer(server) }));
  const lost: [string, string][] = [];
  const usable = parsed.filter(({ server, encrypted }) => {
    const path = encrypted?.encryption.path ?? '';
    if (path === '' || path === COREDNS_PATH) return true;
    lost.push([server, `CoreDNS asks for ${COREDNS_PATH} alone`]);
    return false;
  });
  const names = new Set(usable.flatMap(({ encrypted }) => (encrypted ? nameOf(encrypted) : [])));
  const [only = ''] = names;
  const common = names.size === 1 ? only : '';
  const targets: string[] = [];
  for (const { server, encrypted } of usable) {
    if (encrypted === undefined) targets.push(server);
    else if (encrypted.encryption.protocol === 'https' && nameOf(encrypted) !== common) {
      lost.push([server, NOT_OF_HTTPS]);
    } else targets.push(corednsText(encrypted, common === '' ? nameOf(encrypted) : ''));
  }
  const isEncrypted = targets.some((target) => target.includes('://'));
  const options = isEncrypted
    ? [
        ...(tlsCa === '' ? [] : [directive('tls', [tlsCa])]),
        ...(common === '' ? [] : [directive('tls_servername', [common])]),
      ]
    : [];
  return { targets, options, lost };
}

/**
 * A target of `forward` in the form of DnsSetup; `name` is that of `tls_servername`, or empty. Undefined for what
 * cannot be asked.
 */
export function serverOfTarget(target: string, name: string): string | undefined {
  const server = plainServer(plainTarget(target));
  const encrypted = server === undefined ? undefined : parseEncryptedServer(server);
  if (encrypted === undefined || name === '') return server;
  return plainServer(
    encryptedText({ ...encrypted, encryption: { ...encrypted.encryption, name } }),
  );
}

/** The certificate's name where it has to be said: CoreDNS checks the address otherwise. */
function nameOf({ host, encryption: { name } }: EncryptedServer): string {
  return name === host && isIP(host) !== 0 ? '' : name;
}

function corednsText({ host, port, encryption }: EncryptedServer, name: string): string {
  const { protocol } = encryption;
  const suffix = name === '' ? '' : `%${name}`;
  const isDefault = port === (protocol === 'tls' ? TLS_PORT : HTTPS_PORT);
  if (isIP(host) === 6) return `${protocol}://[${host}${suffix}]${isDefault ? '' : `:${port}`}`;
  return `${protocol}://${host}${suffix}${isDefault ? '' : `:${port}`}`;
}
