import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { renderFolder } from '@kube-dns/cli';
import { areInstalled } from '@kube-dns/testkit';
import { MANIFESTS, render } from '@kube-dns/testkit/manifests';

const BASE = join(MANIFESTS, 'kube-dns');
const withKubectl = areInstalled('kubectl') ? it : it.skip;

withKubectl('renderFolder makes the objects that kubectl kustomize makes', () => {
  const inOrder = (objects: readonly { readonly kind?: unknown }[]) =>
    [...objects].sort((one, other) => String(one.kind).localeCompare(String(other.kind)));
  expect(inOrder(renderFolder(BASE).objects)).toEqual(inOrder(render(BASE)));
});
