import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { PEERS, type PeerWord, shownConfiguration } from './configurations.js';
import { examplePlan, EXAMPLES } from './configuration-examples.js';

const FOLDER = fileURLToPath(new URL('../../test/configurations', import.meta.url));

describe('the configuration of a peer', () => {
  it.each(EXAMPLES)('is as expected: %s', (name, word, task) => {
    const { files } = PEERS[word].configure(examplePlan(task, '/run/bench'));
    const text = Object.entries(files)
      .filter(([file]) => file !== 'zone')
      .map(([, each]) => each)
      .join('');
    expect(text).toBe(readFileSync(`${FOLDER}/${name}`, 'utf8'));
  });

  it('has an expected text for each example and for nothing else', () => {
    expect(readdirSync(FOLDER).sort()).toEqual(EXAMPLES.map(([name]) => name).sort());
    const words = new Set(EXAMPLES.map(([, word]) => word));
    expect([...words].sort()).toEqual(Object.keys(PEERS).sort());
  });

  it('is printed with port 53 and without the records of a zone', () => {
    for (const word of Object.keys(PEERS) as PeerWord[]) {
      const text = shownConfiguration(word);
      expect(text).toMatch(/\b53\b/);
      expect(text).not.toContain('SRV');
    }
  });

  it('has a thread for each core where it is asked for', () => {
    const plan = { ...examplePlan(EXAMPLES[0]![2], '/run/bench'), threads: 2 };
    const [text = ''] = Object.values(PEERS.unbound.configure(plan).files);
    expect(text).toContain('  num-threads: 2\n');
    expect(text).toContain('  msg-cache-slabs: 2\n');
  });

  it('is no cache for a zone and no zone for a cache', () => {
    const zone = examplePlan({ kind: 'zone', zone: '' }, '/run/bench');
    const cache = examplePlan({ kind: 'cache', upstream: { port: 1 } }, '/run/bench');
    expect(() => PEERS.unbound.configure(zone)).toThrow('a zone has no upstream');
    expect(() => PEERS.nsd.configure(cache)).toThrow('a cache has no zone');
  });
});
