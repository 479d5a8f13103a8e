/** Figures are made of these. */
type Summand = number | Float64Array | { readonly [key: string]: Summand };

/** Adds figures of one shape up: numbers, and what arrays and objects hold, each for itself. */
export function addFigures<T extends object>(left: T, right: T): T {
  return sum(left as Summand, right as Summand) as T;
}

function sum(left: Summand, right: Summand): Summand {
  if (typeof left === 'number') return left + (right as number);
  if (ArrayBuffer.isView(left)) return left.map((value, i) => value + (right as Float64Array)[i]!);
  const others = right as Readonly<Record<string, Summand>>;
  return Object.fromEntries(
    Object.entries(left).map(([key, value]) => [key, sum(value, others[key]!)]),
  );
}
