import { describe, expect, it } from '@jest/globals';
import { requireReusePort } from './listener.js';

describe('requireReusePort', () => {
  it.each(['22.12.0', '22.19.1', '23.1.0', '24.0.0', '25.3.1'])('takes Node %s', (version) => {
    expect(() => requireReusePort(version)).not.toThrow();
  });

  it.each(['20.20.2', '22.11.9', '23.0.0'])('refuses Node %s by its name', (version) => {
    expect(() => requireReusePort(version)).toThrow(`Node ${version} cannot share a port`);
  });

  it('takes the Node that runs this', () => {
    expect(() => requireReusePort()).not.toThrow();
  });
});
