import { type CommandContext, type Output, print } from '../command.js';
import { addressText, checkReach } from './asking/reach.js';
import { Run } from './asking/run.js';
import { type CompareOptions, compareUsage, parseCompareOptions } from './options.js';
import { Progress } from './progress.js';
import { type Gathered, gatherQuestions } from './questions/gather.js';
import { refusal } from './refusal.js';
import { pageText } from './report/html.js';
import { resultData } from './report/json.js';
import { checkPageFile, writePage } from './report/page-file.js';
import { tableText } from './report/table.js';
import type { Result } from './result.js';
import { Tally } from './verdict/tally.js';

/**
 * The command `kube-dns compare`: asks two name servers the same questions and reports where they differ.
 * Resolves with 1 when there is a difference that counts as a failure, else with 0; throws a CliError of
 * status 2 when there is nothing to compare.
 */
export async function compare(args: readonly string[], context: CommandContext): Promise<number> {
  const options = parseCompareOptions(args);
  if (options === 'help') {
    context.stdout.write(compareUsage());
    return 0;
  }
  // An error must show now, not after an hour of queries.
  if (options.html !== undefined) checkPageFile(options.html);
  const gathered = await gatherQuestions(options, context.stdin);
  if (gathered.questions.size === 0) {
    throw refusal(['there is no question to ask', ...gathered.notes].join('; '));
  }
  const result = await run(options, gathered, context.stderr);
  const data = resultData(result);
  if (options.html !== undefined) writePage(options.html, pageText(data));
  await print(context, options.json ? `${JSON.stringify(data, null, 2)}\n` : tableText(data));
  return result.tally.isFailed ? 1 : 0;
}

async function run(
  options: CompareOptions,
  { questions, api, notes, logs }: Gathered,
  stderr: Output,
): Promise<Result> {
  const { servers, ways, rate, timeoutMs } = options;
  await checkReach(servers, questions, ways[0] ?? 'udp', timeoutMs);
  const tally = new Tally(options);
  const running = new Run(options, tally);
  const startedAt = new Date();
  const startMs = performance.now();
  const progress = new Progress(stderr, questions.size, () => ({
    done: tally.questions,
    different: tally.different,
  }));
  try {
    await running.askAll(questions);
  } finally {
    progress.close();
  }
  const { deadSide } = running;
  if (deadSide !== undefined) {
    const reason = tally.givenUp.find(({ side }) => side === deadSide)?.reason ?? '';
    throw refusal(`${deadSide} ${addressText(servers[deadSide])} stopped answering: ${reason}`);
  }
  return {
    startedAt,
    api,
    servers: { left: addressText(servers.left), right: addressText(servers.right) },
    ways,
    rate,
    seconds: (performance.now() - startMs) / 1000,
    notes,
    logs,
    tally,
  };
}
