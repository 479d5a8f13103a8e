import { describe, expect, it } from '@jest/globals';
import type { Explanation } from '@kube-dns/telemetry';
import type { LookedUp } from './lookup.js';
import { parseExplainOptions } from './options.js';
import { adviceOf, readable } from './report.js';

it('no text of a name server reaches a terminal as it is', () => {
  expect(readable('a\u001b[2J\u009b1m\u202eb\n\u007f')).toBe('a\\x1b[2J\\x9b1m\\x202eb\\x0a\\x7f');
});

it('a name that was tried is not asked for as the one that was meant', () => {
  const near = ['web.shop.svc.cluster.local.', 'web.data.svc.cluster.local.'];
  const explanation: Explanation = {
    program: 'kubedns',
    question: { name: 'web.shop.', type: 'A' },
    steps: [{ step: 'near', text: `Did you mean ${near.join(' or ')}?`, names: near }],
    verdict: { rcode: 'SERVFAIL', answers: [] } as unknown as Explanation['verdict'],
  };
  const explained: LookedUp = {
    name: 'web.shop.',
    outcome: 'failed',
    explanation,
    behind: explanation,
    explanations: [explanation],
    why: '',
  };
  const tried: LookedUp = { ...explained, name: 'Web.shop.svc.cluster.local.', explanations: [] };
  const options = parseExplainOptions(['web.shop']);
  if (options === 'help') throw new Error('no options');
  const lookup = { asked: [tried, explained], deciding: explained, explained };
  expect(adviceOf(lookup, { candidates: [], reason: 'searched' }, options)).toEqual([
    'Did you mean web.data.svc.cluster.local.?',
  ]);
});

describe('attack 23: a name that the search path completes to a service in a namespace named as a top-level domain', () => {
  const advice = (name: string, answered: string, outcome: 'answered' | 'no-name' = 'answered') => {
    const explanation: Explanation = {
      program: 'kubedns',
      question: { name: answered, type: 'A' },
      steps: [],
      verdict: { rcode: 'NOERROR', answers: [] } as unknown as Explanation['verdict'],
    };
    const deciding: LookedUp = {
      name: answered,
      outcome,
      explanation,
      behind: explanation,
      explanations: [explanation],
      why: '',
    };
    const candidates = [answered];
    const options = parseExplainOptions([name]);
    if (options === 'help') throw new Error('no options');
    return adviceOf(
      { asked: [deciding], deciding, explained: deciding },
      { candidates, reason: 'searched' },
      options,
    ).join(' ');
  };

  it.each(['yahoo.com', 'Yahoo.COM', 'ads.de', 'login.dev'])('is explained: %s', (name) => {
    const [service = '', namespace = ''] = name.toLowerCase().split('.');
    expect(advice(name, `${name}.svc.cluster.local.`)).toContain(
      `The namespace ${namespace} has the name of a top-level domain: its service ${service} answers for ${name} here.`,
    );
  });

  it('is not any other name', () => {
    expect(advice('db.prod', 'db.prod.svc.cluster.local.')).toBe('');
    expect(advice('yahoo.com', 'yahoo.com.corp.example.')).toBe('');
    expect(advice('yahoo.com', 'yahoo.com.svc.cluster.local.', 'no-name')).toBe('');
  });
});
