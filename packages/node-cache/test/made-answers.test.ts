import { afterEach, expect, it } from '@jest/globals';
import { ask, ownedBy } from '@kube-dns/testkit';
import { encodeKey } from '@kube-dns/wire';
import { holdTime } from './support/held-time.js';
import {
  MADE_ANSWER_CASES,
  MADE_ANSWERS,
  madeAnswerServer,
  seenAnswers,
} from './support/made-answer-cases.js';
import { Testbed } from './support/testbed.js';

const opened = ownedBy(afterEach);
holdTime();

async function start(corefile: string, script = madeAnswerServer) {
  const testbed = opened(await Testbed.create(script));
  await testbed.serve(corefile);
  return testbed;
}

it('template and rewrite make the answers that CoreDNS makes', async () => {
  const { port } = await start(MADE_ANSWERS);
  expect(await seenAnswers(port)).toEqual(MADE_ANSWER_CASES);
});

it('a template whose CNAME leads to itself is followed eight times', async () => {
  const { port } = await start(
    'a.test:PORT {\ntemplate IN A {\nanswer "{{ .Name }} 60 IN CNAME {{ .Name }}"\n}\n}\n',
  );
  const { rcode, answers } = await ask(port, 'x.a.test');
  expect([rcode, answers.length]).toEqual(['NOERROR', 9]);
});

it('a rewritten question is cached under the name that is asked for, until that changes', async () => {
  const [old, fresh] = ['Old.cluster.local', 'new.cluster.local'];
  let count = 0;
  const testbed = await start(
    'cluster.local:PORT {\nrewrite name exact old.cluster.local new.cluster.local\ncache\nforward . UPSTREAM\n}\n',
    ({ name }) => {
      if (name === fresh) count++;
      return { answers: [{ type: 'A', ttl: 60, data: `10.0.0.${count}` }] };
    },
  );
  const { port, server } = testbed;
  const { resolver } = server.blocks.all[0]!;
  const seen = async (name: string) => {
    const { questions, answers, texts } = await ask(port, name);
    return [questions[0]?.name, answers[0]?.name, ...texts];
  };
  expect(await seen(old)).toEqual([old, old, 'A 10.0.0.1']);
  expect(await seen(fresh)).toEqual([fresh, fresh, 'A 10.0.0.1']);
  expect(await seen(old)).toEqual([old, old, 'A 10.0.0.1']);
  expect(testbed.asked.map(({ name }) => name)).toEqual([fresh]);
  resolver.invalidate({ name: encodeKey(fresh), zone: encodeKey('cluster.local') });
  expect(await seen(old)).toEqual([old, old, 'A 10.0.0.2']);
  expect(await seen(fresh)).toEqual([fresh, fresh, 'A 10.0.0.2']);
});

it('an answer with more names than an expression is run for is SERVFAIL', async () => {
  const corefile = (plugin: string) => `a.test:PORT {\n${plugin}\nforward . UPSTREAM\n}\n`;
  const record = (i: number) => ({
    name: `n${i}.b.test`,
    type: 'A' as const,
    ttl: 60,
    data: '10.0.0.1',
  });
  const script = () => ({ answers: Array.from({ length: 400 }, (_, i) => record(i)) });
  const rule = 'rewrite name suffix .a.test .b.test answer';
  const byText = await start(corefile(`${rule} auto`), script);
  const isOverTcp = true;
  expect((await ask(byText.port, 'x.a.test', { isOverTcp })).answers).toHaveLength(400);
  await byText.serve(corefile(`${rule} name (.*)\\.b\\.test {1}.a.test`));
  expect((await ask(byText.port, 'x.a.test', { isOverTcp })).rcode).toBe('SERVFAIL');
});
