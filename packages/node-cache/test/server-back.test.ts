import { afterEach, expect, it, jest } from '@jest/globals';
import { ask, freePort, ownedBy, ScriptedNameServer, until } from '@kube-dns/testkit';
import { holdTime } from './support/held-time.js';
import { Testbed } from './support/testbed.js';

const own = ownedBy(afterEach);

holdTime();

const ZONES = [
  '10.in-addr.arpa',
  ...Array.from({ length: 16 }, (_, i) => `${16 + i}.172.in-addr.arpa`),
  '168.192.in-addr.arpa',
];
const STEP_MS = 100;

it.each([1, 2, ZONES.length])(
  'a server that was down when a block of %d zones was served is asked once it is back',
  async (count) => {
    const port = await freePort();
    const testbed = own(await Testbed.create(() => ({ answers: [] })));
    const keys = ZONES.slice(0, count).map((zone) => `${zone}:PORT`);
    await testbed.serve(`\n${keys.join(' ')} {\n    forward . 127.0.0.1:${port}\n}\n`);
    const rcode = async (host: number) => {
      const asked = ask(testbed.port, { name: `${host}.0.0.10.in-addr.arpa`, type: 'PTR' });
      let answer: Awaited<typeof asked> | undefined;
      void asked.then((one) => (answer = one));
      await until('an answer', async () => {
        await jest.advanceTimersByTimeAsync(STEP_MS);
        return answer !== undefined;
      });
      return answer!.rcode;
    };
    expect(await rcode(1)).toBe('SERVFAIL');
    const records = { answers: [{ type: 'PTR' as const, ttl: 9, data: 'x.example' }] };
    own(await ScriptedNameServer.start(() => records, { port }));
    let host = 2;
    await until('an answer of the server', async () => (await rcode(host++)) === 'NOERROR');
  },
);
