import type { ServerAddress } from '@kube-dns/transport';
import type { Question } from '../questions/question.js';
import { refusal } from '../refusal.js';
import { ask } from './ask.js';
import { type Side, SIDES, type Way } from './way.js';

/** More than one: a side may forward a question to a silent server. */
const QUESTIONS = 3;

/** Throws a refusal that names a side without a reply to the first questions, and the reason. */
export async function checkReach(
  servers: Readonly<Record<Side, ServerAddress>>,
  questions: Iterable<Question>,
  way: Way,
  timeoutMs: number,
): Promise<void> {
  const first: Question[] = [];
  for (const question of questions) {
    if (first.push(question) === QUESTIONS) break;
  }
  const failures = await Promise.all(
    SIDES.map(async (side) => {
      const all = await Promise.all(
        first.map(({ name, type }) => ask({ server: servers[side], name, type, way, timeoutMs })),
      );
      const failed = all.filter((one) => one.reply === undefined);
      return failed.length < all.length ? undefined : failed[0]?.failure;
    }),
  );
  SIDES.forEach((side, index) => {
    const failure = failures[index];
    if (failure === undefined) return;
    throw refusal(`${side} ${addressText(servers[side])} does not answer: ${failure}`);
  });
}

/** An address and its port, as in the flags. */
export function addressText({ address, port }: ServerAddress): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}
