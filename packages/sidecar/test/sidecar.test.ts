import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { endPrograms, type RunningProgram, until } from '@kube-dns/testkit';
import { addressRecord, Responder, txtRecord, type Respond } from './responder.js';
import { startSidecar, urlOf } from './sidecar-process.js';

/** Answers as dnsmasq would: some statistics, and one name that exists. */
const likeDnsmasq: Respond = ({ name }) => {
  if (name === 'cachesize.bind') return [txtRecord('1000')];
  if (name.endsWith('.bind')) return [txtRecord('42')];
  return name === 'good.example.com' ? [addressRecord] : [];
};

let responder: Responder;
beforeEach(async () => {
  responder = await new Responder(likeDnsmasq).start();
});
afterEach(async () => {
  await endPrograms();
  await responder.close();
});

function start(...args: string[]): RunningProgram {
  return startSidecar(
    '--prometheus-addr=127.0.0.1',
    '--prometheus-port=0',
    `--dnsmasq-port=${responder.port}`,
    '--dnsmasq-poll-interval-ms=50',
    ...args,
  );
}

const probe = (label: string, name: string) =>
  `--probe=${label},127.0.0.1:${responder.port},${name},1,A`;

async function get(url: string) {
  const response = await fetch(url);
  const body = await response.text();
  return { status: response.status, type: response.headers.get('content-type'), body };
}

describe('sidecar', () => {
  it('shows the health of each probe, from waiting to success to failure', async () => {
    const sidecar = start(probe('good', 'good.example.com'), probe('bad', 'bad.example.com'));
    const url = await urlOf(sidecar);
    const good = await until(async () => {
      const answer = await get(`${url}/healthcheck/good`);
      if (answer.status === 200) return answer;
      // On a machine that stalls, a probe may be too late.
      if (answer.body.includes('no reply within')) return undefined;
      expect(answer.body).toBe('{"IsOk":false,"LatencySeconds":0,"Err":"waiting for first probe"}');
      return undefined;
    });
    expect(good.type).toBe('application/json');
    expect(good.body).toMatch(/^\{"IsOk":true,"LatencySeconds":0\.\d+,"Err":""\}$/);

    const bad = await until(async () => {
      const answer = await get(`${url}/healthcheck/bad`);
      return answer.body.includes('waiting') ? undefined : answer;
    });
    expect(bad).toEqual({
      status: 503,
      type: 'application/json',
      body: '{"IsOk":false,"LatencySeconds":0,"Err":"no RRs for domain \\"bad.example.com.\\""}',
    });

    responder.respond = () => [];
    await until(async () => (await get(`${url}/healthcheck/good`)).status === 503 || undefined);
  });

  it('exports every metric of the original from the start', async () => {
    responder.respond = () => null;
    const url = await urlOf(start(probe('kubedns', 'good.example.com')));
    const first = (await get(`${url}/metrics`)).body;
    expect(first).toContain('\nkubedns_dnsmasq_hits 0\n');
    expect(first).toMatch(/^# TYPE process_start_time_seconds gauge$/m);
    const buckets = [
      ...first.matchAll(/^kubedns_probe_kubedns_latency_ms_bucket\{le="(.+)"\} 0$/gm),
    ];
    expect(buckets.map((match) => match[1]).join(' ')).toBe(
      '0.25 0.5 1 2 4 8 16 32 64 128 256 512 1024 2048 4096 8192 +Inf',
    );
  });

  it('counts probes and the statistics of dnsmasq', async () => {
    const url = await urlOf(
      start(
        probe('good', 'good.example.com'),
        probe('bad', 'bad.example.com'),
        '--prometheus-namespace=other',
        '--prometheus-path=/numbers',
      ),
    );
    const metrics = await until(async () => {
      const { body } = await get(`${url}/numbers`);
      const isComplete =
        /^other_probe_good_latency_ms_count [1-9]/m.test(body) &&
        /^other_probe_bad_errors [1-9]/m.test(body) &&
        /^other_dnsmasq_max_size [1-9]/m.test(body);
      return isComplete ? body : undefined;
    });
    expect(metrics).toContain('\nother_dnsmasq_hits 42\n');
    expect(metrics).toContain('\nother_dnsmasq_insertions 42\n');
    expect(metrics).toContain('\nother_dnsmasq_max_size 1000\n');
    expect(metrics).toContain('\nother_dnsmasq_errors 0\n');
    expect(metrics).toContain('\nother_probe_good_errors 0\n');
    expect(metrics).toContain('\nother_probe_bad_latency_ms_count 0\n');
  });

  it('serves /healthz, and answers other paths with 404', async () => {
    const url = await urlOf(start());
    const healthz = await get(`${url}/healthz`);
    expect(healthz.status).toBe(200);
    expect(healthz.body).toMatch(/^ok \(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \+0000 UTC\)\n$/);
    expect((await get(`${url}/healthcheck/none`)).status).toBe(404);
    expect((await get(`${url}/metrics`)).type).toBe('text/plain; version=0.0.4; charset=utf-8');
  });

  it('continues while dnsmasq is down, and counts the failed polls', async () => {
    const free = await new Responder(() => null).start();
    const { port } = free;
    await free.close();
    const url = await urlOf(start(`--dnsmasq-port=${port}`));
    await until(
      async () =>
        /^kubedns_dnsmasq_errors [2-9]/m.test((await get(`${url}/metrics`)).body) || undefined,
    );
  });

  it('ends with 0 on SIGTERM', async () => {
    const sidecar = start(probe('good', 'good.example.com'));
    await urlOf(sidecar);
    sidecar.signal('SIGTERM');
    expect(await sidecar.ended).toBe(0);
  });
});

describe('a start that fails', () => {
  it.each([
    ['--probe=a,b', '--probe=a,b: must be <label>,<server>,<name>[,<interval>[,<type>]]'],
    ['--prometheus-path=/healthz', '--prometheus-path=/healthz: this path is taken'],
    ['--porbe=a,b,c', 'unknown flag --porbe; did you mean --probe?'],
    ['--no-such-flag', 'unknown flag --no-such-flag; see sidecar --help'],
  ])('ends with 2 and one line for %s', async (flag, message) => {
    const sidecar = start(flag);
    expect(await sidecar.ended).toBe(2);
    expect(sidecar.stderr).toBe(`sidecar: ${message}\n`);
  });

  it('ends with 255 and one line when the port is in use', async () => {
    const first = await urlOf(start());
    const second = start(`--prometheus-port=${new URL(first).port}`);
    expect(await second.ended).toBe(255);
    expect(second.stderr).toContain(
      `\nsidecar: metrics: cannot listen on ${new URL(first).host}: address already in use\n`,
    );
    const third = start(`--prometheus-port=${new URL(first).port}`, '--prometheus-addr=0.0.0.0');
    expect(await third.ended).toBe(255);
    expect(third.stderr).toContain(`cannot listen on :${new URL(first).port}: address`);
  });

  it('says that it serves every address', async () => {
    const sidecar = start('--prometheus-addr=[::]');
    await sidecar.waitForLine(/serving HTTP on every address, port \d+/);
  });
});
