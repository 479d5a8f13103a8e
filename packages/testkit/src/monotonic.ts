/**
 * Milliseconds on a clock that all processes of the machine share and that is never set: moments of
 * different processes can be compared.
 */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
