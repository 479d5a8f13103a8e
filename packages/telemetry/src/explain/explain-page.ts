import type { LocalAnswer, LocalPage } from '@kube-dns/daemon';
import { type ExplainedQuestion, readQuestion } from './explained-question.js';
import type { Explanation } from './explanation.js';

/** Explanations that are made at the same time. */
const MAX_AT_A_TIME = 8;

/** The page `/explain?name=NAME&type=TYPE[&client=IP]`: an explanation, or `{ error }` with status 400 or 429. */
export function explainPage(
  explain: (question: ExplainedQuestion) => Promise<Explanation>,
): LocalPage {
  let count = 0;
  return async (parameters) => {
    const question = readQuestion(parameters);
    if (typeof question === 'string') return refusal(400, question);
    if (count >= MAX_AT_A_TIME) return refusal(429, 'too many explanations at a time');
    count++;
    try {
      return { status: 200, body: `${JSON.stringify(await explain(question))}\n` };
    } finally {
      count--;
    }
  };
}

function refusal(status: number, error: string): LocalAnswer {
  return { status, body: `${JSON.stringify({ error })}\n` };
}
