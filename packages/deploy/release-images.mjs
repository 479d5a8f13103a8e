// The images of a release as archives of the OCI, without a container engine, a registry or root: the layers are packages of
// Debian with Node, the network tools of node-cache, and what images/stage.mjs lays out. How an image is started is read
// from its Dockerfile, so both ways of building agree.
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Dockerfile, IMAGES } from '@kube-dns/testkit';
import { addNode, RUN_PACKAGES, writeUsers } from '../../images/local-base.mjs';
import { describe, layOutNetworkTools, unpackDebian } from '../../images/network-tools.mjs';
import { acceleratorPlaces, billOf } from '../../images/sbom.mjs';
import { entriesOf, fileEntry, pack, tarOf } from './archive.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const TYPE = 'application/vnd.oci.image';
/** The processors of images, as Node calls them. */
const ARCHITECTURES = { amd64: 'x64', arm64: 'arm64' };
/** Packages that are the same for all of them. */
const FOR_ALL = ['netbase'];
export const PLATFORMS = Object.keys(ARCHITECTURES).map((name) => `linux/${name}`);

/** Makes NAME-VERSION.oci.tar of each image, and a bill of materials for each of its platforms. */
export async function makeImages(release) {
  const { out, work, version, platforms, run, say } = release;
  const architectures = platforms.map((platform) => platform.replace('linux/', ''));
  preparePackages(release, architectures);
  const staged = join(work, 'staged');
  run(process.execPath, ['images/stage.mjs', `--architectures=${architectures.join(',')}`, staged]);
  say('images: the programs are laid out');
  const variants = [];
  for (const architecture of architectures) {
    const base = await makeBase(release, architecture);
    const tools = await makeTools(release, architecture);
    variants.push({ architecture, base, tools });
  }
  for (const name of IMAGES) {
    const images = [];
    for (const { architecture, base, tools } of variants) {
      const app = entriesOf(join(staged, architecture, name), 'app');
      const own = name === 'node-cache' ? [base, tools] : [base];
      const layers = [...own, await layerOf('the program', app, release)];
      images.push(imageOf(name, architecture, layers, release));
      const parts = layers.flatMap(({ components }) => components);
      const accelerator =
        name === 'sidecar' ? [] : acceleratorPlaces(ARCHITECTURES[architecture], 'linux');
      const bill = JSON.stringify(billOf(name, accelerator, parts), undefined, 2);
      writeFileSync(join(out, `${name}-${version}-linux-${architecture}.cdx.json`), `${bill}\n`);
    }
    writeFileSync(join(out, `${name}-${version}.oci.tar`), archiveOf(name, images, release));
    say(`images: ${name} for ${platforms.join(', ')}`);
  }
}

/** Lists of packages for these processors in a folder of our own, so that apt of this machine stays as it is. */
function preparePackages({ work, run, say }, architectures) {
  const apt = join(work, 'apt');
  for (const name of ['state', 'cache']) mkdirSync(join(apt, name), { recursive: true });
  const native = run('dpkg', ['--print-architecture']).trim();
  const all = [...new Set([native, ...architectures])].map((name) => `"${name}";`);
  writeFileSync(join(apt, 'status'), '');
  const lines = [
    `Dir::State "${apt}/state";`,
    `Dir::State::status "${apt}/status";`,
    `Dir::Cache "${apt}/cache";`,
    `APT::Architectures { ${all.join(' ')} };`,
    'APT::Sandbox::User "root";',
    'Acquire::Languages "none";',
  ];
  writeFileSync(join(apt, 'apt.conf'), `${lines.join('\n')}\n`);
  process.env.APT_CONFIG = join(apt, 'apt.conf');
  run('apt-get', ['update', '-qq']);
  say(`images: apt has the packages of ${architectures.join(', ')}`);
}

/** Debian's C library and Node: what all images stand on. */
async function makeBase(release, architecture) {
  const { work, say } = release;
  const unpacked = join(work, `debian-${architecture}`);
  const rootfs = join(work, `base-${architecture}`);
  for (const folder of [unpacked, rootfs]) mkdirSync(folder, { recursive: true });
  const placed = (name) => (FOR_ALL.includes(name) ? name : `${name}:${architecture}`);
  const unpack = (names) => unpackDebian(names.map(placed), unpacked);
  const controls = unpack(RUN_PACKAGES);
  // It has the copyright of the libraries of GCC.
  const [gcc] = /gcc-\d+-base/.exec(controls.join('\n')) ?? [];
  if (gcc !== undefined) controls.push(...unpack([gcc]));
  cpSync(unpacked, rootfs, { recursive: true, verbatimSymlinks: true });
  // Documentation, translations and the like. The copyrights come back below.
  rmSync(join(rootfs, 'usr/share'), { recursive: true });
  describe(controls, unpacked, rootfs);
  writeUsers(rootfs);
  mkdirSync(join(work, 'node'), { recursive: true });
  const isStripped = addNode(join(work, 'node'), rootfs, ARCHITECTURES[architecture]);
  if (!isStripped) {
    say(`images: Node of ${architecture} keeps its symbols, 18 MB: there is no strip for it here`);
  }
  const place = `node_modules/node-linux-${ARCHITECTURES[architecture]}`;
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const { version } = packages[place];
  const purl = `pkg:generic/node@${version}`;
  const node = { type: 'application', 'bom-ref': purl, name: 'node', version, purl };
  const components = [...controls.map((control) => componentOf(control, architecture)), node];
  const layer = await layerOf('Debian and Node', entriesOf(rootfs), release, components);
  say(`images: the base for ${architecture}, ${(layer.blob.length / 1e6).toFixed(1)} MB packed`);
  return layer;
}

async function makeTools(release, architecture) {
  const folder = join(release.work, `tools-${architecture}`);
  layOutNetworkTools(architecture, folder);
  const status = join(folder, 'var/lib/dpkg/status.d');
  const components = readdirSync(status)
    .sort()
    .map((name) => componentOf(readFileSync(join(status, name), 'utf8'), architecture));
  return await layerOf('the network tools', entriesOf(folder), release, components);
}

/** What a bill of materials says of a package of Debian. */
function componentOf(control, architecture) {
  const field = (name) => new RegExp(`^${name}: (.+)$`, 'm').exec(control)?.[1] ?? '';
  const [name, version] = [field('Package'), field('Version')];
  const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}`;
  return { type: 'library', 'bom-ref': purl, name, version, purl };
}

const digestOf = (bytes) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

async function layerOf(what, entries, { seconds }, components = []) {
  const tar = tarOf(entries, seconds);
  return { what, components, diffId: digestOf(tar), blob: await pack(tar) };
}

/** An object of an image as the bytes that its digest is of. */
const jsonBytes = (value) => Buffer.from(JSON.stringify(value));
const descriptor = (mediaType, blob) => ({
  mediaType: `${TYPE}.${mediaType}`,
  digest: digestOf(blob),
  size: blob.length,
});

/** The image for one platform: its manifest, and all blobs that it needs. */
function imageOf(name, architecture, layers, { seconds, version, revision, repository }) {
  const file = new Dockerfile(name);
  const created = new Date(seconds * 1000).toISOString();
  const values = { VERSION: version, REVISION: revision };
  const labels = [
    ...file
      .all('LABEL')
      .join(' ')
      .matchAll(/([\w.]+)="([^"]*)"/g),
  ]
    .map(([, key, text]) => [key, text.replaceAll(/\$\{(\w+)\}/g, (_, each) => values[each] ?? '')])
    .concat([['org.opencontainers.image.source', repository ?? '']])
    .filter(([, text]) => text !== '');
  const config = jsonBytes({
    created,
    architecture,
    os: 'linux',
    config: {
      User: file.all('USER').join(''),
      ExposedPorts: Object.fromEntries(
        file.all('EXPOSE').flatMap((line) => line.split(' ').map((port) => [port, {}])),
      ),
      Env: Object.entries(file.environment).map(([key, value]) => `${key}=${value}`),
      Entrypoint: file.entrypoint,
      WorkingDir: '/',
      Labels: Object.fromEntries(labels),
    },
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map(({ what }) => ({ created, created_by: `npm run release: ${what}` })),
  });
  const manifest = jsonBytes({
    schemaVersion: 2,
    mediaType: `${TYPE}.manifest.v1+json`,
    config: descriptor('config.v1+json', config),
    layers: layers.map(({ blob }) => descriptor('layer.v1.tar+gzip', blob)),
  });
  const blobs = [config, manifest, ...layers.map(({ blob }) => blob)];
  return { architecture, manifest, blobs };
}

/** The archive of one image: a layout of the OCI with one index, of all platforms, under the name of the image. */
function archiveOf(name, images, { prefix, version, seconds }) {
  const index = jsonBytes({
    schemaVersion: 2,
    mediaType: `${TYPE}.index.v1+json`,
    manifests: images.map(({ architecture, manifest }) =>
      Object.assign(descriptor('manifest.v1+json', manifest), {
        platform: { os: 'linux', architecture },
      }),
    ),
  });
  const fullName = `${prefix}${name}:${version}`;
  const named = Object.assign(descriptor('index.v1+json', index), {
    annotations: {
      'io.containerd.image.name': fullName,
      'org.opencontainers.image.ref.name': fullName,
    },
  });
  const blobs = new Map(
    [index, ...images.flatMap((image) => image.blobs)].map((blob) => [digestOf(blob), blob]),
  );
  const entries = [
    fileEntry('oci-layout', JSON.stringify({ imageLayoutVersion: '1.0.0' })),
    fileEntry('index.json', jsonBytes({ schemaVersion: 2, manifests: [named] })),
    ...[...blobs].map(([digest, blob]) => fileEntry(`blobs/${digest.replace(':', '/')}`, blob)),
  ];
  return tarOf(entries, seconds);
}
