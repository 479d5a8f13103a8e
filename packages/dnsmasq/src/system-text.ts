import { errorText } from '@kube-dns/daemon';

const SYSTEM_TEXTS: Readonly<Record<string, string>> = {
  ENOENT: 'No such file or directory',
  EACCES: 'Permission denied',
  ENOTDIR: 'Not a directory',
  EISDIR: 'Is a directory',
  ENOSPC: 'No space left on device',
};

/** What the C library says about an error of the file system, as far as dnsmasq's users know it. */
export function systemText(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  return SYSTEM_TEXTS[code ?? ''] ?? errorText(error);
}
