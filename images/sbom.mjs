// What an image holds besides its base, as a CycloneDX 1.5 bill of materials: the packages that were bundled
// into its program, and its accelerator, as the lock file has them. The same of the npm package kube-dns, which has the
// bundles of all programs. On its own: `node images/sbom.mjs PROGRAM`, after the packages are built.
import { Buffer } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const PURPOSES = {
  kubedns: 'DNS records of a Kubernetes cluster from its services',
  dnsmasq: 'Caching DNS forwarder that routes by domain',
  sidecar: 'Probes and metrics of the DNS pod',
  'node-cache': 'NodeLocal DNSCache: the DNS cache of a node',
  'kube-dns': 'The DNS pod on one machine: up, compare, explain, convert',
};
/** The bundles of the npm package, as paths below packages/ without `.cjs`. */
export const CLI_BUNDLES = [
  'cli/dist/kube-dns',
  ...['apiserver', 'kubedns', 'dnsmasq', 'sidecar', 'node-cache'].map(
    (name) => `${name}/dist/${name}`,
  ),
];

function readJson(...path) {
  return JSON.parse(readFileSync(join(root, ...path), 'utf8'));
}

/** The package URL of an npm package (https://github.com/package-url/purl-spec). */
function purl(name, version) {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

/** What the lock file says of the package in this place of the tree. */
function component(lock, place) {
  const locked = lock.packages[place];
  if (locked === undefined) throw new Error(`package-lock.json has no ${place}`);
  const { version, license, integrity = '' } = locked;
  const name = locked.name ?? place.slice(place.lastIndexOf('node_modules/') + 13);
  const [, sha512] = /^sha512-(.+)$/.exec(integrity) ?? [];
  return {
    type: 'library',
    'bom-ref': purl(name, version),
    name,
    version,
    purl: purl(name, version),
    ...(license && { licenses: [licenseOf(license)] }),
    ...(sha512 && {
      hashes: [{ alg: 'SHA-512', content: Buffer.from(sha512, 'base64').toString('hex') }],
    }),
  };
}

/** An SPDX id, or an expression of several. */
function licenseOf(license) {
  return /[ ()]/.test(license) ? { expression: license } : { license: { id: license } };
}

/** Places in the lock file of what `import('koffi')` finds on a platform, where it is installed. */
export function acceleratorPlaces(arch = process.arch, platform = process.platform) {
  return ['node_modules/koffi', `node_modules/@koromix/koffi-${platform}-${arch}`];
}

/**
 * The bill of a program's image, or of the npm package; `accelerator` says which packages lie beside the bundle, `base` has the
 * components of what is below them.
 */
export function billOf(program, accelerator, base = []) {
  const lock = readJson('package-lock.json');
  const { version } = readJson('package.json');
  const bundles = program === 'kube-dns' ? CLI_BUNDLES : [`${program}/dist/${program}`];
  const bundled = bundles.flatMap((path) => readJson('packages', `${path}.packages.json`));
  const places = [...bundled, ...accelerator];
  const components = [...places.map((place) => component(lock, place)), ...base];
  // A package may lie in the tree twice in one version.
  const unique = new Map(components.map((each) => [each['bom-ref'], each]));
  const own = `pkg:generic/kube-dns/${program}@${version}`;
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': own,
        name: program,
        version,
        description: PURPOSES[program],
        licenses: [{ license: { id: 'Apache-2.0' } }],
        purl: own,
      },
    },
    components: [...unique.values()],
    dependencies: [{ ref: own, dependsOn: [...unique.keys()] }],
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [program] = process.argv.slice(2);
  if (!Object.hasOwn(PURPOSES, program ?? '')) {
    console.error(`usage: node images/sbom.mjs ${Object.keys(PURPOSES).join('|')}`);
    process.exit(2);
  }
  const isAccelerated = program !== 'sidecar' && program !== 'kube-dns';
  const accelerator = isAccelerated ? acceleratorPlaces() : [];
  console.log(JSON.stringify(billOf(program, accelerator), undefined, 2));
}
