import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { LocalPod } from './support/local-pod.js';
import { startCommand } from './support/run-command.js';

let pod: LocalPod;

beforeEach(async () => {
  pod = new LocalPod();
  await pod.prepare();
});

afterEach(() => pod.close());

describe('kube-dns up with objects that cannot be served', () => {
  it.each([
    [
      'broken YAML',
      'kind: Service\nmetadata: { name: x\n',
      /ended with status 1 before it was ready: apiserver: .*broken\.yaml: document 1.*line 3/,
    ],
    [
      'an object that the API refuses',
      'apiVersion: v1\nkind: Service\nmetadata: { name: x, namespace: shop }\nspec: {}\n',
      /before it was ready: apiserver: .*broken\.yaml: Service "x" in namespace "shop" is invalid: spec\.ports/,
    ],
  ])('ends with 1 and one line for %s', async (_what, text, message) => {
    writeFileSync(join(pod.objects, 'broken.yaml'), text);
    const run = startCommand(['up', '--manifest', pod.manifest]);
    expect(await run.ended).toBe(1);
    expect(run.stderr).toMatch(message);
    expect(run.stderr.trimEnd()).not.toContain('\n');
  });
});
