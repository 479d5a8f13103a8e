/**
 * Milliseconds on a clock that all processes of the machine share and that nobody sets, for
 * moments that one process writes down and another one compares.
 */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
