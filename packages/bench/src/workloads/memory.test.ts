import { describe, expect, it } from '@jest/globals';
import { CONTAINERS, lastStage, limitsOf } from './memory.js';

describe('a container under podman', () => {
  it.each(CONTAINERS)('is the image of %s without the stage that builds it', (name) => {
    const text = lastStage(name);
    expect(text).toMatch(/^ARG BASE_IMAGE\nFROM \$\{BASE_IMAGE\}\n/);
    expect(text.match(/^COPY .*$/gm)).toEqual([`COPY ${name} /app`]);
    expect(text).toMatch(/^ENV .*MALLOC_/m);
    expect(text).not.toMatch(/^RUN /m);
  });

  it.each(CONTAINERS)('has the limits of %s in the manifest', async (name) => {
    expect(await limitsOf(name)).toEqual([
      expect.stringMatching(/^--memory=\d{9}$/),
      expect.stringMatching(/^--env=NODE_OPTIONS=--max-old-space-size=\d+$/),
    ]);
  });
});
