import { afterEach, expect, it } from '@jest/globals';
import {
  findCoreDns,
  freePort,
  needsCoreDns,
  ownedBy,
  RunningProgram,
  ScriptedNameServer,
  TemporaryFolder,
  unless,
} from '@kube-dns/testkit';
import {
  MADE_ANSWER_CASES,
  MADE_ANSWERS,
  madeAnswerServer,
  seenAnswers,
} from './support/made-answer-cases.js';
import { corefileOn } from './support/testbed.js';

const opened = ownedBy(afterEach);

unless(needsCoreDns(), it)('CoreDNS makes and rewrites answers as the table says', async () => {
  const folder = opened(new TemporaryFolder());
  const upstream = opened(await ScriptedNameServer.start(madeAnswerServer));
  const port = await freePort();
  const path = folder.file('Corefile', corefileOn(MADE_ANSWERS, port, upstream.hostPort));
  const program = opened(new RunningProgram('coredns', findCoreDns()!, ['-conf', path]));
  await program.waitForLine(/^CoreDNS-/m);
  expect(await seenAnswers(port)).toEqual(MADE_ANSWER_CASES);
});
