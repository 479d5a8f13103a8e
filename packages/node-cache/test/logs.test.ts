import { afterEach, expect, it, jest } from '@jest/globals';
import { ask, ownedBy, type Script } from '@kube-dns/testkit';
import { holdTime } from './support/held-time.js';
import { Testbed } from './support/testbed.js';

const opened = ownedBy(afterEach);
holdTime();

const start = async (script: Script, plugins: string) => {
  const testbed = opened(await Testbed.create(script));
  await testbed.serve(`\n.:PORT {\n    ${plugins}\n    cache 30\n    forward . UPSTREAM\n}\n`);
  testbed.lines.length = 0;
  return testbed;
};

const found: Script = ({ question }) =>
  question.name.startsWith('none')
    ? { rcode: 'NXDOMAIN' }
    : { answers: [{ type: 'A', ttl: 30, data: '10.0.0.1' }] };

it('log writes a line for each answer, as CoreDNS does, from a server and from the cache', async () => {
  const { port, lines } = await start(found, 'log');
  for (let i = 0; i < 2; i++) await ask(port, { name: 'A.example', id: 7, ednsBytes: 1232 });
  await ask(port, { name: 'none.example', id: 8, type: 'AAAA' }, { isOverTcp: true });
  const flags = '(qr,rd,ra|qr,aa,rd,ra)';
  const seconds = '\\d+\\.\\d+s';
  expect(lines).toHaveLength(3);
  for (const line of lines.slice(0, 2)) {
    expect(line).toMatch(
      new RegExp(
        `^127\\.0\\.0\\.1:\\d+ - 7 "A IN A\\.example\\. udp 38 false 1232" NOERROR ${flags} \\d+ ${seconds}$`,
      ),
    );
  }
  expect(lines[2]).toMatch(
    new RegExp(
      `^127\\.0\\.0\\.1:\\d+ - 8 "AAAA IN none\\.example\\. tcp 30 false \\d+" NXDOMAIN ${flags} \\d+ ${seconds}$`,
    ),
  );
});

it('log writes those of its zones and classes, in its format', async () => {
  const format = 'log example "{name} {rcode} {unknown}" {\n        class denial\n    }';
  const { port, lines } = await start(found, format);
  await ask(port, 'a.example');
  await ask(port, 'none.example');
  await ask(port, 'none.test');
  expect(lines).toEqual(['none.example. NXDOMAIN -']);
});

it('errors names question, server and reason of a failure', async () => {
  const { port, lines, upstream } = await start(() => ({ rcode: 'SERVFAIL' }), 'errors');
  await ask(port, 'a.example');
  expect(lines).toEqual([`plugin/errors: 2 a.example. A: ${upstream.text}: servfail`]);
});

it('errors counts failures of a pattern together', async () => {
  const consolidate = 'errors {\n        consolidate 100ms ".*servfail$"\n    }';
  const { port, lines } = await start(() => ({ rcode: 'SERVFAIL' }), consolidate);
  for (const name of ['a.example', 'b.example']) await ask(port, name);
  await jest.advanceTimersByTimeAsync(99);
  expect(lines).toEqual([]);
  await jest.advanceTimersByTimeAsync(1);
  expect(lines).toEqual(["plugin/errors: 2 errors like '.*servfail$' occurred in last 0.1s"]);
});

it('the log of failures has a bound: twenty lines, and twenty a second', async () => {
  const { port, lines } = await start(() => ({ rcode: 'SERVFAIL' }), 'errors');
  const askMany = (zone: string) =>
    Promise.all(Array.from({ length: 30 }, (_, i) => ask(port, `n${i}.${zone}.example`)));
  await askMany('a');
  expect(lines).toHaveLength(20);
  await jest.advanceTimersByTimeAsync(500);
  await askMany('b');
  expect(lines).toHaveLength(30);
});
