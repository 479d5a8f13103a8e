import { addressRecords, type Response, soaRecord } from '@kube-dns/testkit';
import fc from 'fast-check';
import type { Seen } from '../src/testing/index.js';

/** Of addresses and of denials, in seconds. */
export const TTL = 30;
export const NEGATIVE_TTL = 5;

/** Negative answers of the zone `z`. */
export const DENIED: Response = {
  rcode: 'NXDOMAIN',
  authorities: [soaRecord(NEGATIVE_TTL, 'z', NEGATIVE_TTL)],
};
export const NO_DATA: Response = { authorities: [soaRecord(NEGATIVE_TTL, 'z', NEGATIVE_TTL)] };

/** Services by name, each with the number of its last change. */
export type Zone = ReadonlyMap<string, number>;

const SERVICES = ['a.x', 'b.x', 'c.y'];
const NAMES = [
  'svc',
  'x.svc',
  'y.svc',
  '*.x.svc',
  ...SERVICES.flatMap((s) => [`${s}.svc`, `h.${s}.svc`]),
];

/** What the server says of a name, as one text: the numbers of the services that it shows. */
export function truth(zone: Zone, name: string): string {
  const below = (suffix: string) =>
    [...zone]
      .filter(([service]) => service.endsWith(suffix))
      .sort(([, left], [, right]) => left - right);
  if (name === 'svc') return 'no data';
  if (name === '*.x.svc') return String(below('.x').map(([, number]) => number)) || 'denied';
  const [first = '', second] = name.replace(/^h\./, '').split('.');
  if (second === 'svc') return below(`.${first}`).length > 0 ? 'no data' : 'denied';
  return String(zone.get(`${first}.${second}`) ?? 'denied');
}

/** What the server replies when it says that of a name. */
export function responseOf(text: string): Response {
  if (text === 'denied') return DENIED;
  if (text === 'no data') return NO_DATA;
  return {
    answers: text
      .split(',')
      .map(
        (number) =>
          addressRecords(
            TTL,
            `10.${number.padStart(5, '0').replace(/^(..)(..)(.)/, (_, a: string, b: string, c: string) => `${+a}.${+b}.${+c}`)}`,
          )[0]!,
      ),
  };
}

/** What an answer says of its name; undefined when there is none. */
export function textOf(seen: Seen | undefined): string | undefined {
  if (seen === undefined) return undefined;
  if (seen.rcode === 'NXDOMAIN') return 'denied';
  if (seen.answers.length === 0) return 'no data';
  const numbers = seen.answers.map((answer) => {
    const [, a, b, c] = answer.split(' ')[2]!.split('.').map(Number);
    return a! * 1_000 + b! * 10 + c!;
  });
  return String(numbers.sort((left, right) => left - right));
}

type Step =
  | { readonly kind: 'change'; readonly service: string; readonly exists: boolean }
  | { readonly kind: 'send' | 'ask'; readonly name: string }
  | { readonly kind: 'process' | 'reply' | 'news' | 'cut' | 'connect' }
  | { readonly kind: 'wait'; readonly seconds: number };

const step = <K extends string>(...kinds: K[]) => fc.record({ kind: fc.constantFrom(...kinds) });
const names = fc.constantFrom(...NAMES);

/** Each change has time to be told: else there would always be news on its way. */
export const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('change' as const),
      service: fc.constantFrom(...SERVICES),
      exists: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('send' as const), name: names }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('ask' as const), name: names }) },
  { weight: 12, arbitrary: step('process', 'reply', 'news') },
  { weight: 1, arbitrary: step('cut', 'connect', 'connect') },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      seconds: fc.constantFrom(0.001, 1, 6, 40),
    }),
  },
);
