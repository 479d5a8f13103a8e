import { COOKIELESS_PER_SECOND } from '@kube-dns/transport';
import { wholeNumber } from './number-value.js';
import { flag, type OptionDefinition, setting } from './option-definition.js';

/** Cookies of clients and servers (RFC 7873). dnsmasq has none of them. */
export const COOKIE_OPTIONS: readonly OptionDefinition[] = [
  setting(
    'cookie-secret-file',
    '',
    'extension: file with the secret of server cookies, 32 hex digits, and the last one in a second line',
    (draft, value) => {
      draft.cookieSecretFile = value;
    },
  ),
  setting(
    'require-cookie',
    '',
    'extension: above so many UDP queries a second without a good server cookie they get BADCOOKIE or TC (default 10000)',
    (draft, value) => {
      draft.cookieRequiredAbove = value === '' ? COOKIELESS_PER_SECOND : wholeNumber(value);
    },
    'optional',
  ),
  flag(
    'upstream-cookies',
    '',
    'extension: ask servers with cookies, and take no reply without',
    (draft) => {
      draft.asksWithCookies = true;
    },
  ),
];
