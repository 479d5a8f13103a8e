import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { fieldFaults, MANIFESTS, readObjects, STOCK_OBJECTS } from '@kube-dns/testkit/manifests';

const FILES = readdirSync(MANIFESTS, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.yaml'))
  .sort();

describe('a file of manifests/', () => {
  it('is there to be checked', () => {
    expect(FILES).toEqual(expect.arrayContaining(['kube-dns/deployment.yaml', 'local/pod.yaml']));
  });

  it.each(FILES)('has no unknown or wrongly typed field: %s', (file) => {
    const objects: readonly unknown[] = readObjects(readFileSync(join(MANIFESTS, file), 'utf8'));
    expect(objects.length).toBeGreaterThan(0);
    // A list or an object without a kind is a patch; what it makes is looked at where it is used.
    const whole = objects.filter((each) => each instanceof Object && 'kind' in each);
    expect(whole.flatMap(fieldFaults)).toEqual([]);
  });
});

describe('the check of fields', () => {
  const deployment = STOCK_OBJECTS.find(({ kind }) => kind === 'Deployment');
  const withContainer = (container: object) => ({
    ...deployment,
    spec: { template: { spec: { containers: [container] } } },
  });

  it('finds nothing in the manifest of the original', () => {
    expect(STOCK_OBJECTS.flatMap(fieldFaults)).toEqual([]);
  });

  it('finds a misspelt field', () => {
    expect(fieldFaults(withContainer({ name: 'x', readynessProbe: {} }))).toEqual([
      'Deployment.spec.template.spec.containers[0].readynessProbe is unknown',
    ]);
  });

  it('finds a wrong type', () => {
    const faults = fieldFaults(withContainer({ name: 'x', env: [{ name: 'A', value: 1 }] }));
    expect(faults).toEqual([
      'Deployment.spec.template.spec.containers[0].env[0].value: 1 is no string',
    ]);
  });

  it('finds a kind that is not served any more', () => {
    const old = { ...deployment, apiVersion: 'extensions/v1beta1' };
    expect(fieldFaults(old)).toEqual(['no kind Deployment in extensions/v1beta1']);
  });
});
