import { afterEach, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { ask, endPrograms, ownedBy, TemporaryFolder } from '@kube-dns/testkit';
import { serve } from './processes.js';

const own = ownedBy(afterEach);
afterEach(() => endPrograms());

it('a reader that is not there is one line of the log, and delays neither answers nor the end', async () => {
  const path = join(own(new TemporaryFolder()).path, 'socket');
  const { process, port } = await serve(
    ['--no-resolv', '--address=/a.example/10.0.0.1'],
    [`--dnstap=unix:${path}`],
  );
  expect((await ask(port, 'a.example')).texts).toEqual(['A 10.0.0.1']);
  process.signal('SIGTERM');
  expect(await process.ended).toBe(0);
  const lines = process.stderr.split('\n').filter((line) => line.includes('dnstap unix:'));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain(
    `dnstap unix:${path}: no such file or directory; messages are dropped`,
  );
});
