import type { Answerer, ExchangeObservers } from '@kube-dns/transport';
import { askAnswerer } from './ask-answerer.js';
import { ExchangeRecord } from './exchange-record.js';
import type { ExplainedQuestion } from './explained-question.js';
import type { ExplainedAnswer, ExplainedStep } from './explanation.js';

/** An answer, and a step for each server that was asked for it. */
export interface RecordedAnswer {
  readonly verdict: ExplainedAnswer;
  readonly asked: readonly ExplainedStep[];
}

export interface RecordOptions {
  /** Those of the forwarder; without it no server is asked. */
  readonly exchanges: Pick<ExchangeObservers, 'add' | 'remove'> | undefined;
  /** Lower-cased, in wire form; that of the question unless given. */
  readonly names?: readonly Uint8Array[];
  /** The clock of the forwarder. */
  readonly now?: () => number;
}

/** Asks an answerer as `askAnswerer` does, and records meanwhile which servers are asked for some names. */
export async function askRecorded(
  answerer: Answerer,
  question: ExplainedQuestion,
  { exchanges, names = [question.key], now }: RecordOptions,
): Promise<RecordedAnswer> {
  const record = new ExchangeRecord(names, now);
  exchanges?.add(record);
  try {
    const verdict = await askAnswerer(answerer, question);
    return { verdict, asked: record.steps() };
  } finally {
    exchanges?.remove(record);
  }
}
