import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { containersOf, findObject, readObjects } from '@kube-dns/testkit/manifests';
import { shellBlocks } from '../support/shell-block.js';
import { read } from './documents.js';

const manifests = read('manifests/README.md');
const tryPage = read('docs/try.md');

it('README.md has 200 lines at most', () => {
  expect(read('README.md').split('\n').length).toBeLessThanOrEqual(200);
});

describe('manifests/README.md', () => {
  const [look, bring] = shellBlocks(manifests, 'What serves DNS now');

  it('begins with one command that says what runs, and what it may say', () => {
    expect(look).toHaveLength(1);
    const cells = [...manifests.matchAll(/^\| `(deployment\.apps\/[\w-]+|No resources found)`/gm)];
    expect(cells.map(([, shown]) => shown)).toEqual([
      'deployment.apps/coredns',
      'deployment.apps/kube-dns',
      'No resources found',
    ]);
  });

  it('brings the images to kind under the names that the manifest has', () => {
    const { images } = parse(read('manifests/kube-dns/kustomization.yaml')) as {
      images: { newName: string; newTag: string }[];
    };
    const named = images.map(({ newName, newTag }) => `${newName}:${newTag}`);
    expect(bring).toEqual(['npm run images', `kind load docker-image ${named.join(' ')}`]);
  });
});

describe('docs/try.md', () => {
  it('has the ports that the manifest declares in the table of programs', () => {
    const objects = readObjects(read('manifests/kube-dns/deployment.yaml'));
    for (const { name, ports = [] } of containersOf(
      findObject(objects, 'Deployment', 'kube-dns'),
    )) {
      const cell = new RegExp(`^\\| \`${name}\` +\\|([^|]*)\\|`, 'm').exec(tryPage)?.[1] ?? '';
      for (const { containerPort } of ports) expect(cell).toContain(` ${containerPort} `);
    }
  });
});
