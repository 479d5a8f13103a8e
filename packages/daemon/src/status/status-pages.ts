import { createHash } from 'node:crypto';
import { boolFlag } from '@kube-dns/base';
import type { LocalPage } from '../local/local-page.js';
import { sharedResult } from '../shared-result.js';
import { statusJson } from './status-json.js';
import { statusPage } from './status-page.js';
import { type ProgramAbout, statusReport } from './status-report.js';
import type { StatusSource } from './status-source.js';
import { STATUS_STYLE } from './status-style.js';

const PAGE = '/';
const JSON_PAGE = '/status';

/** Made for each page and not at the start, as they take Node's crypto. */
function headers(): Readonly<Record<string, string>> {
  const hash = createHash('sha256').update(STATUS_STYLE).digest('base64');
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${hash}'`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return {
    'Content-Security-Policy': policy,
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Resource-Policy': 'same-origin',
  };
}

/** The flag `--status` of each program. */
export const STATUS_FLAG = boolFlag(
  false,
  'show the status page, / and /status of the metrics port, to every client; without it to this pod alone',
);

/** The paths that every client gets with `--status`. */
export function openStatusPaths(isOpen: boolean): ReadonlySet<string> {
  return new Set(isOpen ? [PAGE, JSON_PAGE] : []);
}

/** The status pages of a program: `/`, which people read, and `/status`, the same as JSON. */
export function statusPages(about: ProgramAbout, source: StatusSource): Map<string, LocalPage> {
  const report = sharedResult(() => statusReport(about, source));
  return new Map<string, LocalPage>([
    [
      PAGE,
      async () => ({
        status: 200,
        type: 'text/html',
        headers: headers(),
        body: statusPage(await report()),
      }),
    ],
    [
      JSON_PAGE,
      async () => ({ status: 200, headers: headers(), body: statusJson(await report()) }),
    ],
  ]);
}
