import type { Readable } from 'node:stream';
import { ApiReader } from '../cluster/api-reader.js';
import { clusterQuestions } from '../cluster/cluster-questions.js';
import { readCluster } from '../cluster/read-cluster.js';
import type { CompareOptions } from '../options.js';
import { externalQuestions } from './external-questions.js';
import { type LogLines, readQueryLog } from './query-log.js';
import { readQuestionFile } from './question-file.js';
import { QuestionSet } from './question-set.js';

/** All questions of a run, and notes about their sources. */
export interface Gathered {
  readonly questions: QuestionSet;
  /** The API server that the objects of the cluster are from. */
  readonly api: string | undefined;
  readonly logs: readonly LogLines[];
  readonly notes: readonly string[];
}

const POD_NAMESPACE = 'default';

/** Reads every source of the options; throws a refusal for one that cannot be read. */
export async function gatherQuestions(options: CompareOptions, stdin: Readable): Promise<Gathered> {
  const { kubeconfig, api, domain, external } = options;
  const questions = new QuestionSet();
  const notes: string[] = [];
  const reader =
    kubeconfig === undefined && api === undefined ? undefined : new ApiReader({ kubeconfig, api });
  if (reader !== undefined) {
    const objects = await readCluster(reader);
    if (objects.services.length === 0) notes.push('the cluster has no services');
    for (const question of clusterQuestions(objects, domain)) questions.add(question);
  }
  for (const question of externalQuestions(external, POD_NAMESPACE, domain))
    questions.add(question);
  for (const file of options.questionFiles) {
    for await (const question of readQuestionFile(file, stdin)) questions.add(question);
  }
  const logs: LogLines[] = [];
  for (const file of options.logs) {
    logs.push(await readQueryLog(file, stdin, (question) => questions.add(question)));
  }
  for (const log of logs) notes.push(logNote(log));
  if (questions.leftOut > 0)
    notes.push(`${questions.leftOut} questions exceed the limit and are left out`);
  return { questions, api: reader?.server, logs, notes };
}

function logNote({ file, lines, questions, others, strangers }: LogLines): string {
  return (
    `${file}: ${lines} lines: ${questions} with a question, ` +
    `${others} without one, ${strangers} are not of a query log`
  );
}
