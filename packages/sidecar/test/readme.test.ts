import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { parseFlags } from '@kube-dns/daemon';

import { endPrograms, until } from '@kube-dns/testkit';
import { FLAGS } from '../src/flags.js';
import { readOptions } from '../src/options.js';
import { parsePrometheusText } from './prometheus-text.js';
import { addressRecord, Responder, txtRecord } from './responder.js';
import { startSidecar, urlOf } from './sidecar-process.js';

const readme = readFileSync(fileURLToPath(new URL('../README.md', import.meta.url)), 'utf8');
const program = { name: 'sidecar', version: '1', summary: '', flags: FLAGS };
const command = /npx sidecar ([^]*?)\ncurl/.exec(readme)![1]!.split(/[\s\\]+/);

let responder: Responder;
beforeEach(async () => {
  responder = await new Responder(({ name }) => {
    if (name === 'subscriptions.bind') return [txtRecord('live 3', 'down 0')];
    return name.endsWith('.bind') ? [txtRecord('1')] : [addressRecord];
  }).start();
});
afterEach(async () => {
  await endPrograms();
  await responder.close();
});

/** The example of the README, with free ports and with probes every second. */
async function startExample(): Promise<string> {
  const here = command.map((text) =>
    text
      .replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${responder.port}`)
      .replace(/port=\d+/, `port=${responder.port}`)
      .replace(/,5,SRV$/, ',1,SRV'),
  );
  const free = ['--prometheus-addr=127.0.0.1', '--prometheus-port=0'];
  return urlOf(startSidecar(...here, ...free));
}

describe('README', () => {
  it('lists every flag with its default', () => {
    const rows = [...readme.matchAll(/^\| `--(\S+)`\s*\|\s*(?:`([^`]*)`)?\s*\|/gm)];
    const documented = rows.map(([, name, text = '']) => `${name}=${text}`);
    const actual = Object.entries(FLAGS).map(([name, { initial }]) =>
      typeof initial === 'object' ? `${name}=` : `${name}=${initial}`,
    );
    expect(documented).toEqual(actual);
  });

  it('shows a command line that the sidecar reads as intended', () => {
    const { probes, dnsmasq } = readOptions(parseFlags(program, command).values);
    expect(probes.map(({ label }) => label)).toEqual(['kubedns', 'dnsmasq']);
    expect(dnsmasq.port).toBe(1_053);
  });

  it('has an example whose answers look as it shows', async () => {
    const url = await startExample();
    const [, path, shown] = /^curl \S+?:10054(\/healthcheck\S+) +# (.*)$/m.exec(readme)!;
    const answer = await until(async () => {
      const response = await fetch(url + path!);
      return response.status === 200 ? response.text() : undefined;
    });
    const shape = (text: string) => text.replace(/0\.\d+/, 'N');
    expect(shape(answer)).toBe(shape(shown!));
    const [, metricsPath] = /^curl \S+?:10054(\/metrics)$/m.exec(readme)!;
    expect((await fetch(url + metricsPath!)).status).toBe(200);
  });

  it('lists every metric with its type, and no other', async () => {
    const rows = [...readme.matchAll(/^\| `(kubedns_\S+)`\s*\| (\w+)/gm)];
    const documented = rows.flatMap(([, name, type]) =>
      (name!.includes('<label>') ? ['kubedns', 'dnsmasq'] : ['']).map(
        (label) => `${name!.replace('<label>', label)} ${type}`,
      ),
    );
    const families = parsePrometheusText(
      await (await fetch(`${await startExample()}/metrics`)).text(),
    );
    const actual = [...families.values()]
      .filter(({ name }) => !name.startsWith('process_'))
      .map(({ name, type }) => `${name} ${type}`);
    expect(documented.sort()).toEqual(actual.sort());
  });
});
