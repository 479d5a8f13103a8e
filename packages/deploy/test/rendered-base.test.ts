import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { MANIFESTS, render } from '../../cli/test/support/cluster-manifests.js';
import { renderBase } from './support/rendered-base.js';
import { hasCommand } from '../../cli/test/support/tools.js';

const withKubectl = hasCommand('kubectl') ? it : it.skip;

withKubectl('renderBase makes the objects that kubectl kustomize makes', () => {
  const inOrder = (objects: readonly { readonly kind: string }[]) =>
    [...objects].sort((one, other) => one.kind.localeCompare(other.kind));
  expect(inOrder(renderBase())).toEqual(inOrder(render(join(MANIFESTS, 'kube-dns'))));
});
