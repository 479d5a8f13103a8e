import { afterEach, expect, it } from '@jest/globals';
import {
  ask,
  endPrograms,
  freePort,
  needsPrograms,
  RunningProgram,
  unless,
  until,
} from '@kube-dns/testkit';
import { PROGRAM } from './processes.js';

afterEach(() => endPrograms());

unless(needsPrograms('script'), it)('the query log may be on a terminal', async () => {
  const port = await freePort();
  const line = [
    ...[process.execPath, PROGRAM, '-configDir=/nonexistent', '-query-log=json', '-metrics-addr='],
    ...['--', `--port=${port}`, '--listen-address=127.0.0.1', '--bind-interfaces', '--no-resolv'],
    ...['--no-hosts', '--address=/a.test/192.0.2.1'],
  ].join(' ');
  const args = ['-qfc', `exec ${line} 2>&1`, '/dev/null'];
  const env = { KUBE_DNS_ENDS_WITH_PARENT: '1' };
  const terminal = new RunningProgram('script', 'script', args, { env });
  await terminal.waitForLine('serving on port');
  for (let i = 0; i < 20; i++) await ask(port, 'a.test');
  const rows = () => terminal.stdout.split('\r\n').filter((row) => row.startsWith('{'));
  await until(() => rows().length === 20);
  for (const row of rows()) {
    expect(JSON.parse(row)).toMatchObject({ qname: 'a.test.', source: 'local' });
  }
});
