import { X509Certificate } from 'node:crypto';
import type { SecureContext } from 'node:tls';
import { nodeTls } from './node-modules.js';

/** RFC 8310 section 6 asks for nothing older; TLS 1.3 is used where the server has it. */
const MIN_VERSION = 'TLSv1.2';
let bySystem: SecureContext | undefined;

/** Whose certificates are accepted. Reading the system's takes some 100 ms: that is done once, and only where a server is encrypted. */
export class TlsTrust {
  readonly #own: SecureContext | undefined;

  /** The authorities as PEM text; those of the system without it. Throws for a text without a certificate. */
  constructor(authorities?: string) {
    if (authorities === undefined) return;
    new X509Certificate(authorities);
    this.#own = nodeTls().createSecureContext({ ca: authorities, minVersion: MIN_VERSION });
  }

  /** To be called before clients wait for a handshake, as it reads the certificates. */
  load(): void {
    if (this.#own === undefined) bySystem ??= systemContext();
  }

  get context(): SecureContext {
    return this.#own ?? (bySystem ??= systemContext());
  }
}

function systemContext(): SecureContext {
  const { createSecureContext, getCACertificates } = nodeTls();
  const ca = getCACertificates('system');
  // A system without certificates: those that Node brings.
  return createSecureContext({ ...(ca.length > 0 && { ca }), minVersion: MIN_VERSION });
}
