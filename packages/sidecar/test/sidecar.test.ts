import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import {
  endPrograms,
  type RunningProgram,
  ScriptedNameServer,
  startBundle,
  until,
} from '@kube-dns/testkit';
import { addressRecord, txtRecord } from './replies.js';

let responder: ScriptedNameServer;
let sidecar: RunningProgram;
let url: string;

beforeAll(async () => {
  // Answers as dnsmasq would: some statistics, and one name that exists.
  responder = await ScriptedNameServer.start(({ name }) => {
    if (name === 'cachesize.bind') return { answers: [txtRecord('1000')] };
    if (name.endsWith('.bind')) return { answers: [txtRecord('42')] };
    return name === 'good.example.com' ? { answers: [addressRecord] } : {};
  });
  sidecar = start(
    probe('good', 'good.example.com'),
    probe('bad', 'bad.example.com'),
    '--prometheus-namespace=other',
    '--prometheus-path=/numbers',
  );
  const [, port = ''] = await sidecar.waitForLine(/serving HTTP on .* port (\d+)/);
  url = `http://127.0.0.1:${port}`;
});
afterAll(async () => {
  await endPrograms();
  await responder.close();
});

function start(...args: string[]): RunningProgram {
  return startBundle('sidecar', [
    '--prometheus-addr=[::]',
    '--prometheus-port=0',
    `--dnsmasq-port=${responder.port}`,
    '--dnsmasq-poll-interval-ms=50',
    ...args,
  ]);
}

const probe = (label: string, name: string) =>
  `--probe=${label},127.0.0.1:${responder.port},${name},1,A`;

async function get(path: string) {
  const response = await fetch(`${url}${path}`);
  const body = await response.text();
  return { status: response.status, type: response.headers.get('content-type'), body };
}

describe('sidecar', () => {
  it('shows the health of each probe', async () => {
    const good = await until(async () => {
      const answer = await get('/healthcheck/good');
      return answer.status === 200 && answer;
    });
    expect(good.type).toBe('application/json');
    expect(good.body).toMatch(/^\{"IsOk":true,"LatencySeconds":\d+\.\d+,"Err":""\}$/);

    const bad = await until(async () => {
      const answer = await get('/healthcheck/bad');
      return answer.body.includes('no RRs') && answer;
    });
    expect(bad).toEqual({
      status: 503,
      type: 'application/json',
      body: '{"IsOk":false,"LatencySeconds":0,"Err":"no RRs for domain \\"bad.example.com.\\""}',
    });
  });

  it('counts probes and the statistics of dnsmasq, at the path and under the namespace of its flags', async () => {
    const { type } = await until(async () => {
      const answer = await get('/numbers');
      const isComplete =
        /^other_probe_good_latency_ms_count [1-9]/m.test(answer.body) &&
        /^other_probe_bad_errors [1-9]/m.test(answer.body) &&
        /^other_dnsmasq_hits 42$/m.test(answer.body) &&
        /^other_dnsmasq_insertions 42$/m.test(answer.body) &&
        /^other_dnsmasq_max_size 1000$/m.test(answer.body);
      return isComplete && answer;
    });
    expect(type).toBe('text/plain; version=0.0.4; charset=utf-8');
  });

  it('serves /healthz at every address, and answers other paths with 404', async () => {
    expect(sidecar.output).toMatch(/serving HTTP on every address, port \d+/);
    const healthz = await get('/healthz');
    expect(healthz.status).toBe(200);
    expect(healthz.body).toMatch(/^ok \(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \+0000 UTC\)\n$/);
    expect((await get('/healthcheck/none')).status).toBe(404);
  });
});

describe('a start that fails', () => {
  it('ends with 2 and one line for a flag that is wrong', async () => {
    const failed = start('--probe=a,b');
    expect(await failed.ended).toBe(2);
    expect(failed.stderr).toBe(
      'sidecar: --probe=a,b: must be <label>,<server>,<name>[,<interval>[,<type>]]\n',
    );
  });

  it('ends with 255 and one line when the port is in use', async () => {
    const { port } = new URL(url);
    const failed = start(`--prometheus-port=${port}`);
    expect(await failed.ended).toBe(255);
    expect(failed.stderr).toContain(
      `\nsidecar: metrics: cannot listen on :${port}: address already in use\n`,
    );
  });
});

it('sidecar ends with 0 on SIGTERM', async () => {
  sidecar.signal('SIGTERM');
  expect(await sidecar.ended).toBe(0);
});
