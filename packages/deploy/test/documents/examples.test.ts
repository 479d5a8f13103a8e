import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ask, freePort, runExample, RunningProgram, until, untilEqual } from '@kube-dns/testkit';
import { commandWith, CheckoutCommands, replaceAll, shellBlock } from '../support/shell-block.js';
import { DOCUMENTS, read } from './documents.js';

const readmeOf = (name: string) => read(`packages/${name}/README.md`);

const PRINTING = DOCUMENTS.filter((document) => /^ *console\.log.*\); \/\/ /m.test(read(document)));

it('five packages have an example that prints', () => {
  expect(PRINTING).toHaveLength(5);
});

it.each(PRINTING)('the example of %s prints what its comments say', async (document) => {
  const { printed, expected } = await runExample(read(document));
  expect(printed).toEqual(expected);
});

it('the example of the daemon serves its metric and those of the process that the README names', async () => {
  const readme = readmeOf('daemon');
  const [, example = ''] = /^```js\n(.*?)^```/ms.exec(readme) ?? [];
  const args = ['--input-type=module', '--eval', example.replace('10055', '0')];
  const program = new RunningProgram('example', process.execPath, args);
  try {
    const [, port = ''] = await program.waitForLine(/serving \/metrics on port (\d+)/);
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(text).toContain('example_answer 42\n');
    const served = text.match(/(?<=^# TYPE )process_\w+/gm) ?? [];
    const section = /^## Metrics$.*?^## /ms.exec(readme)?.[0] ?? '';
    expect(section.match(/(?<=`)process_\w+/g)?.sort()).toEqual(served.sort());
    program.signal('SIGTERM');
    expect(await program.ended).toBe(0);
  } finally {
    await program.close();
  }
});

describe('the examples of kubedns, dnsmasq and the sidecar, one in front of the other', () => {
  const programs = new CheckoutCommands();
  const ports = new Map<string, string>();
  /** A command of a README with the ports of this test. */
  const commandOf = (name: string, heading: string) => (word: string) =>
    replaceAll(commandWith(shellBlock(readmeOf(name), heading), word), ports);
  const kubedns = commandOf('kubedns', '# @kube-dns/kubedns');
  const dnsmasq = commandOf('dnsmasq', 'Example');
  const sidecar = commandOf('sidecar', '# @kube-dns/sidecar');
  /** Here are no clients that need more. */
  const KUBEDNS = ['--dns-bind-address=127.0.0.1', '--healthz-port=0', '--drain-time=0s'];
  const NAME = 'kubernetes.default.svc.cluster.local';

  beforeAll(async () => {
    for (const port of ['8001', '10053', '1053', '10054']) ports.set(port, `${await freePort()}`);
    programs.start(kubedns('apiserver'));
    programs.start(kubedns('kubedns'), ...KUBEDNS);
    programs.start(dnsmasq('dnsmasq'));
  });
  afterAll(() => programs.close());

  /** What the answers have; nothing until the program answers. Over TCP a port that is not open says so. */
  const answerOn = async (port: string) => {
    const reply = ask(Number(ports.get(port)), NAME, { isOverTcp: true });
    const records = await reply.then(({ answers }) => answers).catch(() => []);
    return records.flatMap((record) => (record.type === 'A' ? record.data : [])).join();
  };

  it('kubedns answers what its README shows', async () => {
    const [, shown = ''] = new RegExp(`${NAME}\n# (.*)$`, 'm').exec(readmeOf('kubedns')) ?? [];
    await untilEqual(shown, () => answerOn('10053'));
  });

  it('dnsmasq asks kubedns', async () => {
    await untilEqual('10.96.0.1', () => answerOn('1053'));
  });

  it('the sidecar probes both, and says so as its README shows', async () => {
    const here = ['--prometheus-addr=127.0.0.1', `--prometheus-port=${ports.get('10054')}`];
    programs.start(sidecar('sidecar').replaceAll(',5,SRV', ',1,SRV'), ...here);
    const [, path = '', shown = ''] =
      /^curl \S+?(\/healthcheck\S+) +# (.*)$/m.exec(readmeOf('sidecar')) ?? [];
    const shape = (text: string) => text.replace(/0\.\d+/, 'N');
    const url = `http://127.0.0.1:${ports.get('10054')}`;
    const isOk = async () => {
      const response = await fetch(url + path).catch(() => undefined);
      return response?.status === 200 && response.text();
    };
    expect(shape(await until('the first probe', isOk))).toBe(shape(shown));
    const metrics = async () => (await fetch(`${url}/metrics`)).text();
    // The cache of dnsmasq's command line.
    const maxSize = async () => /^kubedns_dnsmasq_max_size .*/m.exec(await metrics())?.[0];
    await untilEqual('kubedns_dnsmasq_max_size 1000', maxSize);
  });
});
