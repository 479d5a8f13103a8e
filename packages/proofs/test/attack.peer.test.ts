import { beforeAll, describe, expect, it } from '@jest/globals';
import { needsPrograms, unless } from '@kube-dns/testkit';
import { prove, run } from './prove-process.js';

const TIMEOUT_MS = 300_000;
/** One of each kind that is more than a rate, on the container that has more to do with it. */
const ATTACKS = [
  'large-edns',
  'bomb-replies',
  'notify',
  'notify-foreign',
  'spoofed-replies',
  'birthday',
  'tcp-deaf',
  'kubedns-subscribers',
];
const SHORT = ['--busy', '--seconds=0.3', '--calm=0.2', '--settle=0', '--strength=0.5'];

it('refuses an attack that does not exist', async () => {
  const { end, stderr } = await run(['attack', '--only=nothing'], TIMEOUT_MS);
  expect(end).toBe(2);
  expect(stderr).toContain('--only=nothing: "nothing" is none of ');
});

unless(needsPrograms('dnsperf'), describe)('attacks', () => {
  let result: Awaited<ReturnType<typeof prove<unknown>>>;

  beforeAll(async () => {
    const args = ['attack', `--only=${ATTACKS.join(',')}`, '--rate=400', ...SHORT];
    result = await prove(args, TIMEOUT_MS);
  }, TIMEOUT_MS);

  it.each(ATTACKS)('%s keeps what does not depend on the machine', (name) => {
    const own = [...result.figures.keys()].filter((figure) => figure.startsWith(`${name}: `));
    expect(own).toContain(`${name}: honest queries answered after it`);
    expect(result.missed.filter((figure) => own.includes(figure))).toEqual([]);
  });

  it.each([
    ['spoofed-replies', 'forged replies that were accepted'],
    ['birthday', 'forged replies that were accepted'],
    ['birthday', 'pairs of ID and port at a time'],
    ['notify', 'messages that dropped answers, a second'],
    ['notify-foreign', 'NOTIFY accepted'],
    ['tcp-deaf', 'dnsmasq: defects'],
    ['tcp-deaf', 'dnsmasq: descriptors at the peak'],
    ['kubedns-subscribers', 'kubedns: descriptors at the peak'],
  ])('%s has a bar for %s', (name, figure) => {
    expect(result.figures.get(`${name}: ${figure}`)).toBeGreaterThanOrEqual(0);
  });
});
