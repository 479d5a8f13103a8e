import { afterEach, expect, it } from '@jest/globals';
import {
  addressRecords,
  ask,
  endPrograms,
  ownedBy,
  ScriptedNameServer,
  until,
} from '@kube-dns/testkit';
import { serve } from './processes.js';

const own = ownedBy(afterEach);
afterEach(() => endPrograms());

it('--stale gives expired answers while no server replies, and the new one when one does', async () => {
  const upstream = own(
    await ScriptedNameServer.start(() => ({ answers: addressRecords(1, '10.0.0.1') })),
  );
  const { port } = await serve(['--no-resolv', '--stale=100ms', `--server=${upstream.text}`]);
  await ask(port, 'a.example');
  upstream.script = () => null;
  await until('an expired answer', async () => {
    const { texts, ttls } = await ask(port, 'a.example');
    expect(texts).toEqual(['A 10.0.0.1']);
    return ttls[0] === 30;
  });
  upstream.script = () => ({ answers: addressRecords(60, '10.0.0.2') });
  await until('the new one', async () => (await ask(port, 'a.example')).texts[0] === 'A 10.0.0.2');
});
