import { EXTENDED_ERROR, extendedErrorOption } from '@kube-dns/wire';

const DIGITS = 7;
const HEAD_BYTES = 6;
const BEFORE = 'expired ';
const AFTER = ' s ago';
const ZERO = 48;

/** By number of digits. */
type Templates = readonly Uint8Array[];

const ANSWERS = templates(EXTENDED_ERROR.STALE_ANSWER);
const DENIALS = templates(EXTENDED_ERROR.STALE_NXDOMAIN);

/** Says of an expired answer how long ago it expired, as an Extended DNS Error; valid until the next call. */
export function staleOption(isDenial: boolean, seconds: number): Uint8Array {
  let left = Math.min(Math.floor(seconds), 10 ** DIGITS - 1);
  let digits = 1;
  for (let rest = left; rest >= 10; rest = Math.floor(rest / 10)) digits++;
  const option = (isDenial ? DENIALS : ANSWERS)[digits]!;
  for (let at = HEAD_BYTES + BEFORE.length + digits - 1; digits > 0; digits--, at--) {
    option[at] = ZERO + (left % 10);
    left = Math.floor(left / 10);
  }
  return option;
}

function templates(code: number): Templates {
  return Array.from({ length: DIGITS + 1 }, (_, digits) =>
    extendedErrorOption(code, BEFORE + '0'.repeat(digits) + AFTER),
  );
}
