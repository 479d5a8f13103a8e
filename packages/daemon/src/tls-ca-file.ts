import { X509Certificate } from 'node:crypto';
import { errorText } from '@kube-dns/base';
import { StartupError } from './errors.js';
import { readStartupFile } from './startup-file.js';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/gs;

/**
 * Reads the certificates of `--tls-ca`, PEM text; undefined for the empty path. Throws a StartupError with the exit
 * code that names the file and the reason.
 */
export function readTlsCa(path: string, exitCode: number): string | undefined {
  if (path === '') return undefined;
  const text = readStartupFile(path, exitCode);
  const certificates = text.match(CERTIFICATE) ?? [];
  if (certificates.length === 0) {
    throw new StartupError(`${path} has no certificate (BEGIN CERTIFICATE, as PEM)`, exitCode);
  }
  certificates.forEach((certificate, at) => {
    try {
      new X509Certificate(certificate);
    } catch (error) {
      const which = `certificate ${at + 1} in ${path}`;
      throw new StartupError(`${which} cannot be read: ${errorText(error)}`, exitCode);
    }
  });
  return certificates.join('\n');
}
