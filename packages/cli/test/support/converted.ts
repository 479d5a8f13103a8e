import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type KubeManifest, MANIFESTS } from '@kube-dns/testkit/manifests';
import { readKubeObjects } from '../../src/manifests/objects.js';
import { convertManifest } from '../../src/convert/manifest/convert-manifest.js';
import { Notes } from '../../src/convert/dns-setup.js';

/** The folder of the checkout. */
export const REPOSITORY = join(MANIFESTS, '..');

/** What becomes of an older manifest, and what is said of it. */
export function convertText(text: string) {
  const notes = new Notes();
  const made = convertManifest(readKubeObjects(text, 'old.yaml'), REPOSITORY, notes);
  return { objects: made as unknown as KubeManifest[], lines: notes.lines(), notes };
}

export const convertFile = (file: string) => convertText(readFileSync(file, 'utf8'));
