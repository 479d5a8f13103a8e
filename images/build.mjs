// `npm run images`: builds the images with docker, podman or buildah. Needs no installed packages and runs
// on any Node from 20 on, because all else happens in the build stage of the Dockerfiles.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import {
  buildImage,
  checkNode,
  ENGINE_NAMES,
  findEngine,
  ImageError,
  imageSize,
  kindCommand,
  pushCommand,
  reasonNotToHave,
} from './engine.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const IMAGES = ['kubedns', 'dnsmasq', 'sidecar', 'node-cache'];
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
const BASE_IMAGE = 'node:24-bookworm-slim';
// As manifests/kube-dns names them. No engine and no node looks for such a name in a registry of others, as
// they do for a name without any prefix.
const LOCAL_PREFIX = 'localhost/';
const EXIT_USAGE = 2;

const usage = `Usage: npm run images -- [options] [${IMAGES.join('|')}...] [-- engine options]

Builds the container images, all when none is named.

  --base IMAGE          image that the programs run on: Node 24, no shell needed
                        (default ${BASE_IMAGE})
  --build-image IMAGE   image that they are built in: Node and npm (default ${BASE_IMAGE})
  --prefix TEXT         in front of the names, such as registry.example/dns/ (default ${LOCAL_PREFIX})
  --tag TAG             behind the names (default ${version})
  --platform LIST       build for these, such as linux/amd64,linux/arm64 (default: this machine's)
  --engine NAME         ${ENGINE_NAMES.join(', ')} (default: the first that works)
  --help                show this text
`;

class UsageError extends Error {}

const text = { type: 'string' };
const OPTIONS = {
  base: text,
  'build-image': text,
  prefix: text,
  tag: text,
  platform: text,
  engine: text,
  help: { type: 'boolean' },
};

/** As parseArgs of Node, with a UsageError of one line for what is wrong with the command line. */
function parse(args) {
  try {
    return parseArgs({ args, allowPositionals: true, options: OPTIONS });
  } catch (error) {
    if (!error.code?.startsWith('ERR_PARSE_ARGS_')) throw error;
    const option = /--?[^\s',]+(?= <|'| )/.exec(error.message)?.[0] ?? '';
    const all = Object.keys(OPTIONS).map((name) => `--${name}`);
    if (!all.includes(option)) {
      throw new UsageError(`unknown option ${option}; there are ${all.join(', ')}`);
    }
    const has = error.message.includes('does not take') ? 'takes no' : 'needs a';
    throw new UsageError(`${option} ${has} value`);
  }
}

function readArguments(argv) {
  const split = argv.indexOf('--');
  const own = split < 0 ? argv : argv.slice(0, split);
  const extra = split < 0 ? [] : argv.slice(split + 1);
  const { values, positionals } = parse(own);
  const unknown = positionals.find((name) => !IMAGES.includes(name));
  if (unknown !== undefined) {
    throw new UsageError(`there is no image ${unknown}; there are ${IMAGES.join(', ')}`);
  }
  if (values.engine !== undefined && !ENGINE_NAMES.includes(values.engine)) {
    throw new UsageError(`--engine: ${values.engine} is none of ${ENGINE_NAMES.join(', ')}`);
  }
  for (const [name, value] of Object.entries(values)) {
    if (value === '' && name !== 'prefix') throw new UsageError(`--${name} is empty`);
  }
  return { values, names: positionals.length > 0 ? positionals : IMAGES, extra };
}

function say(text) {
  process.stdout.write(`images: ${text}\n`);
}

/** The commit that is checked out, or '' without git. */
function revision() {
  const { status, stdout } = spawnSync('git', ['rev-parse', 'HEAD'], {
    cwd: root,
    encoding: 'utf8',
  });
  return status === 0 ? stdout.trim() : '';
}

/** How the images get to the nodes of a cluster. */
function nextStep(engine, prefix, tags, platforms) {
  if (platforms !== undefined) return `next, to push them: ${pushCommand(engine, tags)}`;
  return prefix === LOCAL_PREFIX
    ? `next, with kind: ${kindCommand(engine, tags)}`
    : 'next: push them, and put their names into manifests/kube-dns/kustomization.yaml';
}

/** What to do when the build fails where no registry can be reached; undefined where that is not the reason. */
function withoutRegistry(engine, images) {
  for (const image of new Set(images)) {
    const reason = reasonNotToHave(engine, image);
    if (reason === undefined) continue;
    return (
      `${engine} cannot get the image ${image}: ${reason}\n` +
      'Name it in a registry that can be reached: npm run images -- --base=REGISTRY/NAME --build-image=REGISTRY/NAME\n' +
      'Without a registry, make both base images on this machine, a Debian with root:\n' +
      '  node images/local-base.mjs localhost/base\n' +
      '  node images/local-base.mjs --for-build localhost/build\n' +
      '  npm run images -- --base=localhost/base --build-image=localhost/build'
    );
  }
  return undefined;
}

function main() {
  const { values, names, extra } = readArguments(process.argv.slice(2));
  if (values.help) {
    // A reader that closes the pipe (`| head -1`) is no reason for a stack trace.
    process.stdout.on('error', () => undefined);
    process.stdout.write(usage);
    return;
  }
  const engine = findEngine(values.engine);
  const buildArgs = { VERSION: version, REVISION: revision() };
  if (values.base !== undefined) buildArgs.BASE_IMAGE = values.base;
  if (values['build-image'] !== undefined) buildArgs.BUILD_IMAGE = values['build-image'];
  const prefix = values.prefix ?? LOCAL_PREFIX;
  const tags = names.map((name) => `${prefix}${name}:${values.tag ?? version}`);
  const platforms = values.platform;
  const bases = [values['build-image'] ?? BASE_IMAGE, values.base ?? BASE_IMAGE];
  const built = [];
  for (const [i, name] of names.entries()) {
    const tag = tags[i];
    const file = `images/${name}/Dockerfile`;
    const base = values.base === undefined ? '' : ` on ${values.base}`;
    const wanted = platforms === undefined ? '' : ` for ${platforms}`;
    say(`building ${tag} from ${file}${base}${wanted} with ${engine}`);
    const start = Date.now();
    try {
      buildImage(engine, { file, tag, platforms, buildArgs, context: root, extra });
      if (platforms === undefined) checkNode(engine, tag);
    } catch (error) {
      const advice = error instanceof ImageError ? withoutRegistry(engine, bases) : undefined;
      throw advice === undefined ? error : new ImageError(`${error.message}\n${advice}`);
    }
    const seconds = ((Date.now() - start) / 1000).toFixed(1);
    const size = platforms === undefined ? imageSize(engine, tag) : '';
    built.push(`built ${tag} in ${seconds} s${size && `, ${size} uncompressed`}`);
  }
  for (const line of [...built, nextStep(engine, prefix, tags, platforms)]) say(line);
}

try {
  main();
} catch (error) {
  const isUsage = error instanceof UsageError;
  if (!isUsage && !(error instanceof ImageError)) throw error;
  process.stderr.write(`images: ${error.message}\n`);
  process.exitCode = isUsage ? EXIT_USAGE : 1;
}
