import { afterEach, expect, it } from '@jest/globals';
import { ask, askTcp } from '@kube-dns/resolver/testing';
import { againIfStalled, ownedBy, type Script, until } from '@kube-dns/testkit';
import { Testbed } from './support/testbed.js';

const opened = ownedBy(afterEach);

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
  await askTcp(port, { name: 'none.example', id: 8, type: 'AAAA' });
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
  let attempt = 0;
  await againIfStalled(async () => {
    lines.length = 0;
    attempt++;
    await ask(port, `a${attempt}.example`);
    await ask(port, `b${attempt}.example`);
    await until(() => lines.length > 0);
    expect(lines).toEqual(["plugin/errors: 2 errors like '.*servfail$' occurred in last 0.1s"]);
  });
});

it('the log of failures has a bound', async () => {
  const { port, lines } = await start(() => ({ rcode: 'SERVFAIL' }), 'errors');
  let attempt = 0;
  // Twenty, and twenty a second.
  await againIfStalled(async () => {
    lines.length = 0;
    attempt++;
    const names = Array.from({ length: 60 }, (_, i) => `n${i}.a${attempt}.example`);
    await Promise.all(names.map((name) => ask(port, name)));
    expect(lines.length).toBeLessThan(40);
  });
});
