const UNIT_BYTES: Readonly<Record<string, number>> = { Mi: 2 ** 20, Gi: 2 ** 30 };

/** The bytes of a memory quantity of Kubernetes in Mi or Gi; NaN for any other text. */
export function memoryBytes(quantity: string | undefined): number {
  const [, number, unit = ''] = /^(\d+)(Mi|Gi)$/.exec(quantity ?? '') ?? [];
  return Number(number) * (UNIT_BYTES[unit] ?? Number.NaN);
}
